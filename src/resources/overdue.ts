/** When a late invoice is told of: on the first day after its due date, then on the days a reminder is written. */

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Days after the due date. */
const REMINDER_DAYS = [1, 3, 10, 20] as const;

const daysAfter = (date: string, days: number): string => new Date(Date.parse(date) + days * DAY_MS).toISOString();

/** The last of the reminder days that has begun; 0 before the first. */
export const lastReminder = (dueDate: string, now: string): number =>
  REMINDER_DAYS.findLast((days) => daysAfter(dueDate, days) <= now) ?? 0;

/**
 * The next reminder day after those that were told; null after the last. A look that comes late tells of the last day
 * alone: nobody gets three reminders at once.
 */
export function nextReminder({ dueDate, daysOverdue }: { dueDate: string; daysOverdue: number }, now: Date) {
  const days = REMINDER_DAYS.find((day) => day > daysOverdue);
  if (days === undefined) return null;
  const told = Math.max(days, lastReminder(dueDate, now.toISOString()));
  return { at: daysAfter(dueDate, days), change: { status: 'overdue' as const, daysOverdue: told } };
}
