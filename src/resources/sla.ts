/**
 * The service level of a ticket: until somebody begins with it, the board's response time counts, then the time until
 * it is resolved. A ticket's own `dueAt` goes before the board's resolution time.
 */
import type { AnyRecord } from './resource';

const MINUTE_MS = 60_000;
/** The share of the time that has passed when a warning is due. */
const WARNING_SHARE = 0.8;

interface Ticket {
  status: string;
  createdAt: string;
  dueAt: string | null;
  slaStatus: 'ok' | 'warning' | 'breached';
  slaTarget: 'response' | 'resolution' | null;
  slaDueAt: string | null;
}

type Target = 'response' | 'resolution';

const after = (from: string, milliseconds: number): string => new Date(Date.parse(from) + milliseconds).toISOString();

/** When the target must be met; null when nothing asks for it. */
function deadlineOf(target: Target, ticket: Ticket, board: AnyRecord | null): string | null {
  if (target === 'resolution' && ticket.dueAt !== null) return ticket.dueAt;
  const minutes = board?.[target === 'response' ? 'slaResponseMinutes' : 'slaResolutionMinutes'];
  return typeof minutes === 'number' ? after(ticket.createdAt, minutes * MINUTE_MS) : null;
}

/** The earliest target that is still to be met; a breached response leaves the resolution. */
function targetOf(ticket: Ticket, board: AnyRecord | null): { target: Target; deadline: string } | null {
  const isOver = (target: Target): boolean => ticket.slaStatus === 'breached' && ticket.slaTarget === target;
  const targets: Target[] = ticket.status === 'new' ? ['response', 'resolution'] : ['resolution'];
  const open = targets.flatMap((target) => {
    const deadline = deadlineOf(target, ticket, board);
    return deadline === null || isOver(target) ? [] : [{ target, deadline }];
  });
  return open.toSorted((one, other) => Date.parse(one.deadline) - Date.parse(other.deadline))[0] ?? null;
}

/** What a ticket says of its service level while nothing is near. */
export const UNMEASURED = { slaStatus: 'ok', slaTarget: null, slaDueAt: null } as const;

/** A warning holds for the deadline it was given for: the board may ask for another one since, or for none. */
const isOutdated = (ticket: Ticket, board: AnyRecord | null): boolean =>
  ticket.slaStatus === 'warning' &&
  ticket.slaTarget !== null &&
  deadlineOf(ticket.slaTarget, ticket, board) !== ticket.slaDueAt;

/** The next warning or breach of a ticket, and what it then says of its service level; at once where it must be taken back. */
export function nextOfSla(ticket: Ticket, board: AnyRecord | null, now: Date) {
  if (isOutdated(ticket, board)) return { at: now.toISOString(), change: UNMEASURED };
  const found = ticket.slaStatus === 'breached' && ticket.slaTarget === 'resolution' ? null : targetOf(ticket, board);
  if (!found) return null;
  const { target: slaTarget, deadline: slaDueAt } = found;
  // Who missed one target is told of the next when it is missed too: a warning would call back what was breached.
  const isWarned =
    ticket.slaStatus === 'breached' || (ticket.slaStatus === 'warning' && ticket.slaTarget === slaTarget);
  const span = Date.parse(slaDueAt) - Date.parse(ticket.createdAt);
  // Nor is there anything to warn of where the target is missed before anybody looked, as after an outage.
  const isMissed = span <= 0 || Date.parse(slaDueAt) <= now.getTime();
  if (isWarned || isMissed) return { at: slaDueAt, change: { slaTarget, slaDueAt, slaStatus: 'breached' as const } };
  return {
    at: after(ticket.createdAt, span * WARNING_SHARE),
    change: { slaTarget, slaDueAt, slaStatus: 'warning' as const },
  };
}
