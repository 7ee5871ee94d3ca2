import { mintKey } from '../../../src/domain/api-key';
import { refuseKeyInQuery } from '../../../src/http/credentials';

const refusalOf = (query: string): string => {
  try {
    refuseKeyInQuery({ url: `/api/things?${query}`, headers: {}, method: 'GET', socket: {} });
    return '';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

const percent = (text: string): string => text.replace(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);

const NAMES = ['api_key', 'API-Key', 'apikey', 'access_token', 'X-Integration-Key', 'mail_key', 'x-mail-key'];

test.each(NAMES)('a parameter named %s is refused, however its name is written', (name) => {
  for (const written of [name, percent(name), `${percent(name.slice(0, 1))}${name.slice(1)}`])
    expect([written, refusalOf(`a=1&${written}=x`)]).toEqual([written, 'invalid_parameter']);
});

test.each(['platform', 'mail'] as const)(
  'a %s key is refused whichever parameter has it, however it is written',
  (kind) => {
    const key = mintKey(kind);
    for (const written of [key, percent(key), `${key.slice(0, 3)}${percent(key.slice(3))}`])
      expect([written, refusalOf(`q=${written}`)]).toEqual([written, 'invalid_parameter']);
  },
);

test.each(['', 'status=open', 'q=apikey', 'q=token', 'continuationToken=abc', 'keys=1', 'q=plat_', 'q=%20', 'q=a+b'])(
  'other queries pass: %s',
  (query) => expect(refusalOf(query)).toBe(''),
);
