import { readConfig } from '../../../src/config';
import { ConfigError } from '../../../src/config-values';

const trusted = (value: string) => readConfig({ SIGNALBOX_MODE: 'development', TRUST_PROXY: value }).trustProxy;

test.each([
  ['', false],
  ['1', 1],
  [' 10 ', 10],
  ['127.0.0.1', ['127.0.0.1']],
  ['10.0.0.0/8, ::1,2001:db8::/32', ['10.0.0.0/8', '::1', '2001:db8::/32']],
])('TRUST_PROXY=%j is %j', (value, proxies) => {
  expect(trusted(value)).toEqual(proxies);
});

test.each([
  'true',
  '0',
  '11',
  '-1',
  '1.5',
  '0.0.0.0/0',
  '::/0',
  '10.0.0.0/33',
  '10.0.0.1/',
  '10.0.0.0/8/8',
  'proxy',
  '1,10.0.0.1',
])('TRUST_PROXY=%j is refused with what to write', (value) => {
  expect(() => trusted(value)).toThrow(ConfigError);
  expect(() => trusted(value)).toThrow(/^TRUST_PROXY must be a number of proxies from 1 to 10, or addresses/);
});
