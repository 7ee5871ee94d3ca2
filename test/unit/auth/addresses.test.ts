import { createAddressLimiter, networkOf } from '../../../src/http/auth-ip';
import { requireOwnOrigin, readCookie } from '../../../src/http/session-cookie';
import { readConfig } from '../../../src/config';

const from = (remoteAddress: string, ip?: string) => ({
  headers: {},
  method: 'GET',
  url: '/',
  socket: { remoteAddress },
  ip,
});

describe('network addresses', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
    ['::1', '::/64'],
    ['nonsense', 'unknown'],
  ])('%s counts as %s', (address, network) => {
    expect(networkOf(from(address))).toBe(network);
  });

  test('the address Express found behind a trusted proxy goes first', () => {
    expect(networkOf(from('10.0.0.1', '203.0.113.9'))).toBe('203.0.113.9');
  });

  test('sixty requests a minute, counted from the first', () => {
    const limiter = createAddressLimiter();
    for (let count = 1; count <= 60; count += 1) {
      const { state, isAdmitted } = limiter.charge('a', 'ip', 1_000);
      expect([isAdmitted, state.remaining]).toEqual([true, 60 - count]);
    }
    expect(limiter.charge('a', 'ip', 60_999).isAdmitted).toBe(false);
    expect(limiter.charge('b', 'ip', 60_999).isAdmitted).toBe(true);
    expect(limiter.charge('a', 'public', 60_999).isAdmitted).toBe(true);
    expect(limiter.charge('a', 'ip', 61_000).isAdmitted).toBe(true);
  });

  test('the memory for addresses is bounded', () => {
    const limiter = createAddressLimiter();
    for (let count = 0; count < 25_000; count += 1) limiter.charge(`n${count}`, 'ip', 1_000);
    expect(limiter.read('n0', 'ip', 1_000).remaining).toBe(60);
    expect(limiter.read('n24999', 'ip', 1_000).remaining).toBe(59);
  });
});

describe('cookies and origins', () => {
  test.each([
    ['session=a', 'a'],
    ['x=1; session=a; y=2', 'a'],
    ['xsession=b', null],
    ['session=', null],
    ['session=a; session=b', null],
    ['', null],
  ])('%j → %j', (cookie, value) => {
    expect(readCookie({ headers: { cookie } }, 'session')).toBe(value);
  });

  const config = readConfig({ SIGNALBOX_MODE: 'development', PUBLIC_URL: 'https://box.example' });
  const check =
    (headers: Record<string, string>, method = 'POST') =>
    () =>
      requireOwnOrigin({ headers, method }, config);

  test('programs send no origin, the console its own', () => {
    for (const headers of [
      {},
      { origin: 'https://box.example' },
      { origin: 'http://localhost:1', host: 'localhost:1' },
      { 'sec-fetch-site': 'same-origin' },
    ]) {
      expect(check(headers)).not.toThrow();
    }
  });

  test.each([
    { origin: 'https://box.example.evil.test' },
    { origin: 'http://box.example' },
    { origin: 'https://box.example:444' },
    { origin: 'null' },
    { origin: '' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'none' },
  ])('%j is foreign', (headers) => {
    expect(check(headers)).toThrow('another origin');
    expect(check(headers, 'GET')).not.toThrow();
  });
});
