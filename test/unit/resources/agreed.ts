/**
 * The product resources as they were agreed on, in one notation: `name flags : type =default ~`. Flags: `*` filterable,
 * `^` sortable, `!` required at create; `~` set by the server alone. The registry is compared with it word by word.
 */

interface Agreed {
  /** Address by its first product. */
  at: string;
  fields: string;
  events: string;
}

export const AGREED: readonly Agreed[] = [
  {
    at: '/psa/api/tickets',
    fields:
      'number*^:i~ subject!^:s description:t status*^:e{new,open,in_progress,waiting_customer,waiting_vendor,resolved,closed}=new priority*^:e{low,medium,high,critical}=medium boardId*:r(boards) companyId*!:r(companies) contactId*:r(contacts) assigneeId*:id source*:e{portal,email,phone,api,rmm,agent}=api escalationLevel*^:i[0..3]=0 dueAt*^:dt slaStatus*:e{ok,warning,breached}~ resolvedAt*^:dt~ tags*:s[]',
    events:
      'created, updated, status_changed, assigned, escalated, sla_warning, sla_breached, resolved, closed, deleted',
  },
  {
    at: '/psa/api/boards',
    fields:
      'name!^:s description:t boardType*:e{service,project,alerts}=service isDefault*:b=false slaResponseMinutes:i[1..100000] slaResolutionMinutes:i[1..1000000] active*:b=true',
    events: 'created, updated, deleted',
  },
  {
    at: '/psa/api/time-entries',
    fields:
      'ticketId*!:r(tickets) userId*!:id startedAt*^!:dt endedAt^:dt minutes^!:i[0..1440] billable*:b=true workType*:e{remote,onsite,after_hours,travel}=remote notes:t billingStatus*:e{unbilled,approved,invoiced}=unbilled',
    events: 'created, updated, approved, deleted',
  },
  {
    at: '/psa/api/contacts',
    fields:
      'firstName!^:s lastName!^:s email*^:em phone*:ph companyId*!:r(companies) title:s isPrimary*:b=false portalAccess*:b=false lifecycle*:e{lead,customer,former}=customer active*:b=true',
    events: 'created, updated, deleted',
  },
  {
    at: '/psa/api/companies',
    fields:
      'name!^:s status*^:e{active,prospect,inactive}=active companyType*:e{client,prospect,vendor,partner}=client domain*:s phone:ph address:t industry*:s accountManagerId*:id annualRevenue^:mny clientSince*^:d',
    events: 'created, updated, status_changed, deleted',
  },
  {
    at: '/psa/api/service-catalog',
    fields:
      'sku*!^:s name!^:s category*^:s description:t unitPrice^!:mny unit*:e{hour,user,device,month,each}=each taxable*:b=true active*:b=true',
    events: 'updated',
  },
  {
    at: '/crm/api/deals',
    fields:
      'name!^:s companyId*!:r(companies) contactId*:r(contacts) stage*^:e{lead,qualified,proposal,negotiation,won,lost}=lead amount^!:mny currency*:cur=USD probability^:i[0..100] expectedCloseDate*^:d ownerId*:id lostReason:s closedAt^:dt~',
    events: 'created, updated, stage_changed, won, lost, deleted',
  },
  {
    at: '/crm/api/activities',
    fields:
      'activityType*!:e{call,email,meeting,note,task} subject!:s companyId*:r(companies) contactId*:r(contacts) dealId*:r(deals) ownerId*:id dueAt*^:dt completed*:b=false completedAt^:dt~ notes:t',
    events: 'created, completed, deleted',
  },
  {
    at: '/books/api/invoices',
    fields:
      'number*^:s~ companyId*!:r(companies) entityId*:r(entities) status*^:e{draft,sent,partially_paid,paid,overdue,void}=draft issueDate*^!:d dueDate*^!:d currency*:cur=USD lines!:o[] total^:mny~ balance^:mny~ notes:t',
    events: 'created, sent, paid, overdue, voided, deleted',
  },
  {
    at: '/books/api/payments',
    fields:
      'invoiceId*!:r(invoices) amount^!:mny currency*:cur=USD method*!:e{card,ach,check,cash,wire} status*^:e{pending,settled,failed,refunded}=pending receivedAt*^:dt reference*:s failureReason:s~',
    events: 'received, settled, failed, refunded',
  },
  {
    at: '/books/api/entities',
    fields:
      'name!^:s legalName:s taxId:s baseCurrency*:cur=USD country*:cc=US fiscalYearStartMonth:i[1..12]=1 active*:b=true',
    events: 'updated',
  },
  {
    at: '/books/api/accounts',
    fields:
      'code*!^:s name!^:s accountType*!^:e{asset,liability,equity,income,expense} parentId*:r(accounts) entityId*:r(entities) currency*:cur=USD active*:b=true balance^:mny~',
    events: 'created, updated',
  },
  {
    at: '/rmm/api/devices',
    fields:
      'hostname*!^:s companyId*!:r(companies) deviceType*:e{workstation,laptop,server,network,mobile,virtual}=workstation os*:e{windows,macos,linux,ios,android,other}=other osVersion:s status*^:e{online,offline,maintenance,decommissioned}=offline ipAddress:ip serialNumber*:s agentVersion*:s lastSeenAt*^:dt patchStatus*:e{compliant,pending,failed,unknown}=unknown contactId*:r(contacts)',
    events: 'created, updated, online, offline, decommissioned, deleted',
  },
  {
    at: '/rmm/api/scripts',
    fields:
      'name!^:s description:t language*!:e{powershell,bash,python,batch} content!:T timeoutSeconds:i[1..3600]=300 runAs*:e{system,user}=system category*:s active*:b=true',
    events: 'created, updated, deleted',
  },
  {
    at: '/rmm/api/patch-policies',
    fields:
      'name!^:s approvalMode*:e{auto,manual,delayed}=manual delayDays:i[0..90]=7 scheduleCron:s rebootPolicy*:e{never,prompt,force}=prompt severities:e[]{critical,important,moderate,low} deviceTypes:e[]{workstation,laptop,server} active*:b=true',
    events: 'updated',
  },
  {
    at: '/rmm/api/alerts',
    fields:
      'deviceId*!:r(devices) companyId*:r(companies) severity*^!:e{info,warning,error,critical} status*^:e{open,acknowledged,resolved,suppressed}=open alertType*:e{cpu,memory,disk,service,offline,patch,custom}=custom message!:s triggeredAt*^:dt resolvedAt^:dt~ ticketId*:r(tickets)',
    events: 'created, acknowledged, resolved',
  },
  {
    at: '/security/api/alerts',
    fields:
      'title!^:s severity*^!:e{low,medium,high,critical} status*^:e{new,triaged,escalated,closed,false_positive}=new ruleId*:r(rules) incidentId*:r(incidents) deviceId*:r(devices) companyId*:r(companies) userPrincipal*:s sourceIp*:ip detectedAt*^:dt techniqueIds*:s[]',
    events: 'created, escalated, closed',
  },
  {
    at: '/security/api/rules',
    fields:
      'name!^:s description:t severity*^!:e{low,medium,high,critical} query!:T queryLanguage*:e{kql,sigma,lucene}=sigma enabled*:b=true lookbackMinutes:i[1..43200]=60 throttleMinutes:i[0..43200]=0 techniqueIds*:s[]',
    events: 'created, updated, disabled',
  },
  {
    at: '/security/api/incidents',
    fields:
      'title!^:s severity*^!:e{low,medium,high,critical} status*^:e{open,investigating,contained,resolved,closed}=open companyId*:r(companies) assigneeId*:id alertIds:s[] containedAt^:dt~ closedAt*^:dt~ rootCause:t',
    events: 'created, severity_changed, contained, resolved, closed',
  },
  {
    at: '/security/api/mitre-mappings',
    fields:
      'techniqueId*!^:tech tactic*!^:e{reconnaissance,resource_development,initial_access,execution,persistence,privilege_escalation,defense_evasion,credential_access,discovery,lateral_movement,collection,command_and_control,exfiltration,impact} name!^:s ruleIds:s[] coverage*^:e{none,partial,full}=none notes:t',
    events: 'updated',
  },
  {
    at: '/defend/api/endpoints',
    fields:
      'hostname*!^:s companyId*!:r(companies) deviceId*:r(devices) os*:e{windows,macos,linux,other}=other agentVersion*:s status*^:e{protected,at_risk,isolated,offline}=protected policyName*:s lastSeenAt*^:dt openDetections^:i~',
    events: 'created, at_risk, isolated, released, offline',
  },
  {
    at: '/defend/api/detections',
    fields:
      'endpointId*!:r(endpoints) threatName!^:s severity*^!:e{low,medium,high,critical} category*:e{malware,ransomware,pup,exploit,behavior,credential_theft}=malware status*^:e{new,investigating,contained,remediated,false_positive}=new filePath:s sha256*:sha processName:s detectedAt*^:dt techniqueIds*:s[]',
    events: 'created, contained, remediated',
  },
  {
    at: '/defend/api/response-actions',
    fields:
      'endpointId*!:r(endpoints) detectionId*:r(detections) action*!:e{isolate,release,kill_process,quarantine_file,scan,collect_evidence} parameters:o status*^:e{pending,running,succeeded,failed,cancelled}~ result:t~ completedAt^:dt~',
    events: 'requested, succeeded, failed',
  },
  {
    at: '/backups/api/jobs',
    fields:
      'name!^:s companyId*!:r(companies) deviceId*:r(devices) scheduleId*:r(schedules) jobType*!:e{image,file,m365,google,database} status*^:e{idle,running,succeeded,warning,failed}=idle lastRunAt*^:dt lastDurationSeconds^:i bytesProtected^:i retentionDays:i[1..3650]=30 enabled*:b=true',
    events: 'started, succeeded, warning, failed',
  },
  {
    at: '/backups/api/schedules',
    fields:
      'name!^:s cron!:s timezone:s=UTC jobType*:e{image,file,m365,google,database}=image retentionDays:i[1..3650]=30 enabled*:b=true',
    events: 'updated',
  },
  {
    at: '/backups/api/restore-points',
    fields:
      'jobId*!:r(jobs) deviceId*:r(devices) pointAt*^!:dt sizeBytes^:i location*:e{local,cloud,both}=cloud verificationStatus*:e{pending,passed,failed}=pending expiresAt*^:dt',
    events: 'created, verification_failed, expired',
  },
  {
    at: '/voice/api/call-logs',
    fields:
      'direction*!:e{inbound,outbound,internal} fromNumber*!:ph toNumber*!:ph status*^!:e{completed,missed,voicemail,busy,failed} startedAt*^!:dt durationSeconds^:i[0..86400]=0 userId*:id contactId*:r(voice-contacts) companyId*:r(companies) recordingId:id ticketId*:r(tickets)',
    events: 'completed, missed, voicemail',
  },
  {
    at: '/voice/api/recordings',
    fields:
      'callId*!:r(call-logs) durationSeconds^:i[0..86400]=0 sizeBytes^:i format*:e{mp3,wav,ogg}=mp3 transcript:T transcriptStatus*:e{none,pending,ready,failed}=none expiresAt*^:dt',
    events: 'created, transcript_ready, deleted',
  },
  {
    at: '/voice/api/contacts',
    fields: 'displayName!^:s phoneNumber*!:ph email*:em companyId*:r(companies) speedDial:s blocked*:b=false',
    events: 'created, updated, deleted',
  },
  {
    at: '/portal/api/client-users',
    fields:
      'email*!^:em firstName:s lastName^:s companyId*!:r(companies) contactId*:r(contacts) role*:e{viewer,requester,approver,admin}=requester status*^:e{invited,active,suspended}=invited lastLoginAt*^:dt~ mfaEnabled*:b~',
    events: 'invited, activated, suspended, deleted',
  },
  {
    at: '/portal/api/portal-settings',
    fields:
      'brandName!:s supportEmail:em primaryColor:col logoUrl:u allowTicketCreation:b=true allowInvoicePayment:b=false ssoRequired:b=false announcement:t',
    events: 'updated',
  },
  {
    at: '/console/api/tenants',
    fields:
      'name!^:s slug*!^:slug status*^:e{trial,active,suspended}=trial apiTier*:e{standard,professional,enterprise}=standard rateLimitPerMinute:i[1..100000] agentLimit:i[0..100000]=10 creditAllocation:i[0..100000000]=10000 timezone:s=UTC',
    events: 'updated, suspended',
  },
  {
    at: '/console/api/users',
    fields:
      'email*!^:em displayName!^:s roleIds*!:s[] status*^:e{invited,active,disabled}=invited lastLoginAt*^:dt~ mfaEnabled*:b=false timezone:s=UTC',
    events: 'invited, activated, disabled, role_changed, deleted',
  },
  {
    at: '/console/api/roles',
    fields: 'name!^:s description:t permissions!:s[] isSystem*:b~ memberCount^:i~',
    events: 'created, updated, deleted',
  },
  {
    at: '/console/api/entity-sync',
    fields:
      'entityType*!:e{company,contact,user,device} sourceProduct*!:prod targetProduct*!:prod direction*:e{one_way,two_way}=one_way conflictPolicy*:e{source_wins,target_wins,newest_wins}=source_wins fieldMap:o status*^:e{active,paused,error}=active lastSyncAt*^:dt~ lastError:s~',
    events: 'completed, failed',
  },
  {
    at: '/console/api/workflows',
    fields:
      'name!^:s description:t status*^:e{draft,active,paused}=draft triggerEventType*:s triggerSourceProduct*:prod definition!:o ownerId*:id lastRunAt*^:dt~',
    events: 'activated, paused, failed',
  },
];
