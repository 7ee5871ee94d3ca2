/** Whose a record is: the client it names itself, or that of the record it belongs to. */
import type { AnyRecord, Declaration, Resource } from './resource';
import type { Field } from './field';

const COMPANY_ID = 'companyId';

type Client = Pick<Declaration<Record<string, Field>>, 'clientThrough' | 'fields'>;

function companyOf(record: AnyRecord): string | null {
  const company = record[COMPANY_ID];
  return typeof company === 'string' ? company : null;
}

/** What is asked of the records beside one, so that its client is known, and known by name. */
export const clientLabels = ({ clientThrough: through, fields }: Client): string[] => [
  ...(fields[COMPANY_ID] ? [COMPANY_ID] : []),
  ...(through ? [`${through}.${COMPANY_ID}`, `${through}.${COMPANY_ID}.name`] : []),
];

/** The client's id. */
export const clientBy =
  (through: string | undefined): Resource['clientId'] =>
  (record, labels) =>
    companyOf(record) ?? (through === undefined ? null : (labels[`${through}.${COMPANY_ID}`] ?? null));

/** The client's name; null for rows that have no client. */
export function clientNameBy(row: Client): Resource['clientName'] {
  const { clientThrough: through } = row;
  if (clientLabels(row).length === 0) return null;
  return (record, labels) => {
    if (companyOf(record) !== null) return labels[COMPANY_ID] ?? null;
    return through === undefined ? null : (labels[`${through}.${COMPANY_ID}.name`] ?? null);
  };
}
