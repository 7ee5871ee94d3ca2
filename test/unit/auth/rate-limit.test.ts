import { assert, constantFrom, integer, property } from 'fast-check';
import {
  bucketState,
  emissionInterval,
  phaseOf,
  rateHeaders,
  rateProblem,
  refusing,
  TIER_RATES,
  WINDOW_MS,
  windowLimit,
  windowState,
} from '../../../src/domain/rate-limit';
import { TIERS } from '../../../src/contracts/principal';

const NOW = 1_795_215_640_000;
const tenant = (used: number) => windowState('tenant', { limit: 100, used, endsAtMs: NOW + 23_000 }, NOW);

describe('limits', () => {
  test('the tiers are those of the specification', () => {
    expect(TIER_RATES).toEqual({
      standard: { sustained: 60, burst: 100 },
      professional: { sustained: 300, burst: 500 },
      enterprise: { sustained: 1_000, burst: 2_000 },
    });
    expect(TIERS.map(emissionInterval)).toEqual([1_000, 200, 60]);
  });

  test('a tenant’s window: override, flat figure, tier', () => {
    const standard = { tier: 'standard', rateLimitPerMinute: null } as const;
    expect([
      windowLimit(standard, 0),
      windowLimit(standard, 77),
      windowLimit({ ...standard, rateLimitPerMinute: 5 }, 77),
    ]).toEqual([100, 77, 5]);
    expect(windowLimit({ tier: 'enterprise', rateLimitPerMinute: null }, 0)).toBe(2_000);
  });

  test('windows of different tenants begin at different moments, always the same one for a tenant', () => {
    const phases = Array.from({ length: 500 }, (_unused, index) => phaseOf(`org_${index}`));
    expect(Math.min(...phases)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...phases)).toBeLessThan(WINDOW_MS);
    expect(new Set(phases.map((phase) => Math.floor(phase / 6_000))).size).toBe(10);
    expect(phaseOf('org_1')).toBe(phaseOf('org_1'));
  });

  test('a key’s bucket admits exactly what its headers promise', () => {
    assert(
      property(constantFrom(...TIERS), integer({ min: -10_000, max: 130_000 }), (tier, ahead) => {
        const { burst } = TIER_RATES[tier];
        const interval = emissionInterval(tier);
        let tat = NOW + ahead;
        const promised = bucketState(tier, tat, NOW);
        let admitted = 0;
        for (; Math.max(tat, NOW) + interval - NOW <= burst * interval; admitted += 1)
          tat = Math.max(tat, NOW) + interval;
        expect(promised.remaining).toBe(admitted);
        const refused = refusing(bucketState(tier, tat, NOW));
        const retryAt = NOW + (refused.retryInMs ?? 0);
        expect(Math.max(tat, retryAt) + interval - retryAt).toBe(burst * interval);
      }),
    );
  });
});

describe('what clients are told', () => {
  test('the headers of the example in the conventions', () => {
    const key = bucketState('standard', NOW + 58_500, NOW);
    const refused = rateProblem([key, refusing(tenant(100))]);
    expect(refused.headers).toEqual({
      'Retry-After': '23',
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1795215663',
      'RateLimit-Policy': '"key";q=100;w=60;plat-sustained=60, "tenant";q=100;w=60',
      RateLimit: '"key";r=41;t=1, "tenant";r=0;t=23',
    });
    expect(refused.message).toBe('Rate limit exceeded: 100 requests per 1m for this tenant. Retry in 23 s.');
    expect(refused.facts).toEqual({ limit: 100, window: '1m', retryAfter: 23, policy: 'tenant', violated: ['tenant'] });
  });

  test('the policy with least left is shown; of two that refuse, the one that takes longer', () => {
    const key = bucketState('standard', NOW + 95_000, NOW);
    expect(rateHeaders([key, tenant(50)])).toMatchObject({
      'X-RateLimit-Remaining': '5',
      'X-RateLimit-Reset': String((NOW + 95_000) / 1_000),
    });
    expect(rateHeaders([key, tenant(97)])).toMatchObject({
      'X-RateLimit-Remaining': '3',
      'X-RateLimit-Reset': String((NOW + 23_000) / 1_000),
    });
    const both = rateProblem([refusing(bucketState('standard', NOW + 100_000, NOW)), refusing(tenant(100))]);
    expect(both.facts).toMatchObject({ policy: 'tenant', violated: ['key', 'tenant'], retryAfter: 23 });
  });

  test('Retry-After is a whole second, one at least', () => {
    const key = refusing(bucketState('enterprise', NOW + 119_970, NOW));
    expect(rateProblem([key]).headers['Retry-After']).toBe('1');
    expect(rateProblem([key]).message).toBe(
      'Rate limit exceeded: bursts of 2000 requests and 1000 per 1m for this key. Retry in 1 s.',
    );
  });
});
