/** Whether a namespace has the search attributes without which no execution can be started in it. */
import { SEARCH_ATTRIBUTES } from '../contracts/messages';

/** The namespace is there, and no execution could be started in it yet. The message has the command that mends it. */
export class UnpreparedError extends Error {}

/** As the command line names the types. */
const TYPE_NAMES = { KEYWORD: 'Keyword', BOOL: 'Bool', INT: 'Int' } as const;

/** What clients and workers have of the engine in common. */
interface Operator {
  listSearchAttributes(request: { namespace: string }): Promise<{ customAttributes?: object | null }>;
}

/** Throws when search attributes are missing. An engine that tells nobody may have them all. */
export async function assertPrepared(operator: Operator, namespace: string): Promise<void> {
  const listed = await operator.listSearchAttributes({ namespace }).catch(() => null);
  const known = listed?.customAttributes;
  if (!known) return;
  const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => !(name in known));
  if (missing.length === 0) return;
  const options = missing.map(([name, type]) => `--name ${name} --type ${TYPE_NAMES[type]}`).join(' ');
  throw new UnpreparedError(
    `TEMPORAL_NAMESPACE ${namespace} lacks search attributes; make them with: temporal operator search-attribute create --namespace ${namespace} ${options}`,
  );
}
