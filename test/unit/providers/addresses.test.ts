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

test('an allowance is for its family and length only', () => {
  const guard = createAddressGuard(['fd00:1234::/32', '10.1.0.0/16']);
  expect(guard('fd00:1234::1')).toBe(true);
  expect(guard('fd00:1235::1')).toBe(false);
  expect(guard('10.1.255.255')).toBe(true);
  expect(guard('10.2.0.0')).toBe(false);
  expect(guard('::ffff:10.1.0.1')).toBe(true);
});
