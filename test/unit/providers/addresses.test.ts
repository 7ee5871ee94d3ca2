import { createAddressGuard } from '../../../src/providers/addresses';

const isAllowed = createAddressGuard([]);

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '93.184.215.14',
  '172.32.0.1',
  '100.128.0.1',
  '2606:4700:4700::1111',
  '2a00:1450:4001::1',
])('%s is public', (address) => {
  expect(isAllowed(address)).toBe(true);
});

test.each([
  ['Azure', '168.63.129.16'],
  ['Azure, mapped', '::ffff:168.63.129.16'],
  ['Azure, through NAT64', '64:ff9b::a83f:8110'],
  ['IBM Cloud', '161.26.0.10'],
  ['IBM Cloud', '166.9.14.10'],
  ['AWS, Google and others', '169.254.169.254'],
  ['AWS', 'fd00:ec2::254'],
  ['Google', 'fd20:ce::254'],
  ['Alibaba Cloud', '100.100.100.200'],
  ['Oracle Cloud', '192.0.0.192'],
])('the platform of %s at %s is reached only when it is allowed', (_cloud, address) => {
  expect(isAllowed(address)).toBe(false);
  const allowed = address.includes('168.63') ? '168.63.129.16' : address;
  expect(createAddressGuard([allowed])(address)).toBe(true);
});

test.each(['168.63.129.15', '168.63.129.17', '161.25.255.255', '161.27.0.0', '166.7.255.255', '166.12.0.0'])(
  '%s beside a platform is public',
  (address) => {
    expect(isAllowed(address)).toBe(true);
  },
);

test('an allowance is for its family and length only', () => {
  const guard = createAddressGuard(['fd00:1234::/32', '10.1.0.0/16']);
  expect(guard('fd00:1234::1')).toBe(true);
  expect(guard('fd00:1235::1')).toBe(false);
  expect(guard('10.1.255.255')).toBe(true);
  expect(guard('10.2.0.0')).toBe(false);
  expect(guard('::ffff:10.1.0.1')).toBe(true);
});
