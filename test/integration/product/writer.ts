/** What tests of the rules write with on the whole product: a record of any row, its changes, and the events they told. */
import { derivedId } from '../../../src/domain/ids';
import { resourceOf } from '../../../src/resources/registry';
import type { Resource } from '../../../src/resources/resource';
import { waitFor, type Answer, type TestOrg } from '../../support/harness';

export type Values = Record<string, unknown>;

export const addressOf = (key: string): string => {
  const { products, path } = resourceOf(key);
  return `/${products[0]}/api/${path}`;
};
const bodyIn = (answer: Answer): Values => answer.body;

/** Writes as an org, which is known only when the suite has begun. */
export function writerOf(orgOf: () => TestOrg) {
  /** The row's own example, with records that exist wherever it names one that the caller does not. */
  async function bodyOf(row: Resource, more: Values): Promise<Values> {
    const body: Values = { ...row.examples.create, ...more };
    for (const name of Object.keys(row.examples.create)) {
      const target = row.fields[name]?.traits.target;
      if (target && more[name] === undefined) body[name] = (await make(target)).id;
    }
    return body;
  }

  async function make(key: string, more: Values = {}): Promise<Values & { id: string }> {
    const answer = await orgOf().call('POST', addressOf(key), await bodyOf(resourceOf(key), more));
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    return bodyIn(answer) as Values & { id: string };
  }

  const patch = (key: string, id: string, body: Values) => orgOf().call('PATCH', `${addressOf(key)}/${id}`, body);
  const act = (key: string, id: string, name: string, body: Values) =>
    orgOf().call('POST', `${addressOf(key)}/${id}/${name}`, body);
  const read = async (key: string, id: string): Promise<Values> =>
    bodyIn(await orgOf().call('GET', `${addressOf(key)}/${id}`));

  async function changed(answer: Promise<Answer>): Promise<Values> {
    const { status, text, body } = await answer;
    expect([status, text]).toEqual([200, expect.any(String)]);
    return body;
  }

  async function refused(answer: Promise<Answer>, status: number, message: RegExp): Promise<void> {
    const { status: found, body } = await answer;
    expect([found, bodyIn({ body } as Answer)['error']]).toEqual([status, expect.stringMatching(message)]);
  }

  /** The event of this type that a change of the record made is in the log; answers its payload. */
  const payloadOf = (key: string, type: string, id: string): Promise<Values> =>
    waitFor(
      async () => {
        const newest = Number((await read(key, id))['version']);
        for (let version = newest; version > 0; version -= 1) {
          const answer = await orgOf().call('GET', `/agents/api/event-log/${derivedId('evt', id, version, type)}`);
          if (answer.status === 200) return answer.body['payload'];
        }
        return null;
      },
      { what: `${type} of ${id}` },
    );
  return { bodyOf, make, patch, act, read, changed, refused, payloadOf };
}
