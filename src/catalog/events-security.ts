/** Events of the security products: alerts, identities, mail, endpoints. */
import type { EventCatalogEntry } from '../contracts/event';
import * as f from './event-fields';

const SEVERITY: f.Fields = { severity: f.choice(f.SEVERITIES, 'critical') };
const ENDPOINT: f.Fields = { endpoint_id: f.id('edp_srv_file_01'), hostname: f.text('SRV-FILE-01'), ...f.CLIENT };
const USER = f.text('maria.winter@northwind.example');

const SECURITY: EventCatalogEntry[] = [
  f.event('security:alert.created', {
    category: 'security',
    name: 'Security alert',
    about: 'A detection rule fired.',
    fields: {
      alert_id: f.id('sal_5512'),
      title: f.text('Many failed sign-ins followed by a success'),
      ...SEVERITY,
      rule_id: f.id('rul_bruteforce'),
      mitre_technique: f.text('T1110.003'),
      user_id: f.id('usr_maria'),
      ...f.CLIENT,
    },
  }),
  f.event('security:incident.opened', {
    category: 'security',
    name: 'Incident opened',
    about: 'Alerts that belong together became an incident.',
    fields: { incident_id: f.id('inc_88'), ...SEVERITY, alert_count: f.whole(4), ...f.CLIENT },
  }),
  f.event('security:identity.risky_signin', {
    category: 'security',
    name: 'Risky sign-in',
    about: 'Someone signed in from an unusual place or device.',
    fields: {
      user: USER,
      country: f.text('BR'),
      ip: f.text('203.0.113.24'),
      risk: f.choice(['low', 'medium', 'high'], 'high'),
      ...f.CLIENT,
    },
  }),
  f.event('security:mailbox.rule_created', {
    category: 'security',
    name: 'Mailbox rule created',
    about: 'A rule was added to a mailbox; forwarding to the outside is a common sign of a takeover.',
    fields: {
      user: USER,
      forwards_external: f.flag(true),
      rule: f.hidden({ name: '.', action: 'forward', to: 'collector@example.net' }),
      ...f.CLIENT,
    },
  }),
  f.event('security:phishing.reported', {
    category: 'security',
    name: 'Phishing reported',
    about: 'A user reported a suspicious message.',
    fields: {
      report_id: f.id('phr_204'),
      reporter: USER,
      sender: f.text('it-support@northw1nd.example'),
      subject: f.text('Your password expires today'),
      headers: f.hidden('Received: from mail.northw1nd.example (203.0.113.9)\nAuthentication-Results: spf=fail'),
      ...f.CLIENT,
    },
  }),
];

const DEFEND: EventCatalogEntry[] = [
  f.event('defend:detection.created', {
    category: 'security',
    name: 'Threat detected',
    about: 'Endpoint protection found something.',
    fields: {
      detection_id: f.id('det_9031'),
      threat_name: f.text('Ransom.Generic'),
      ...SEVERITY,
      category: f.choice(['malware', 'ransomware', 'pup', 'exploit', 'behavior', 'credential_theft'], 'ransomware'),
      ...ENDPOINT,
      action_taken: f.choice(['none', 'blocked', 'quarantined', 'killed'], 'blocked'),
    },
  }),
  f.event('defend:endpoint.isolated', {
    category: 'security',
    name: 'Endpoint isolated',
    about: 'An endpoint was cut off from the network.',
    fields: { ...ENDPOINT, by: f.id('usr_ada'), reason: f.text('Ransomware behaviour') },
  }),
  f.event('defend:threat.quarantined', {
    category: 'security',
    name: 'Threat quarantined',
    about: 'A harmful file was moved out of reach.',
    fields: {
      file_hash: f.text('9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'),
      ...ENDPOINT,
      family: f.text('Emotet'),
    },
  }),
];

const HYGIENE: EventCatalogEntry[] = [
  f.event('console:api_key.expiring', {
    category: 'security',
    name: 'API key expires soon',
    about: 'An API key of the org stops working in a few days.',
    fields: { key_id: f.id('key_01K0ZS'), days_left: f.whole(7), product_scopes: f.listOf(['PSA', 'RMM']) },
  }),
  f.event('fleet:certificate.expiring', {
    category: 'security',
    name: 'Certificate expires soon',
    about: 'A TLS certificate ends in a few days.',
    fields: {
      subject: f.text('mail.northwind.example'),
      days_left: f.whole(14),
      hosts: f.listOf(['mail.northwind.example', 'webmail.northwind.example']),
      ...f.CLIENT,
    },
  }),
];

export const SECURITY_EVENTS: EventCatalogEntry[] = [...SECURITY, ...DEFEND, ...HYGIENE];
