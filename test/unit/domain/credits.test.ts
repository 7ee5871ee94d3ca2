import { creditsFor, estimateCredits, monthOf, monthsBefore, nextMonthStart } from '../../../src/domain/credits';

describe('months', () => {
  test('are calendar months in UTC, whatever the machine’s zone', () => {
    expect(monthOf(new Date('2026-01-31T23:59:59.999Z'))).toBe('2026-01');
    expect(monthOf(new Date('2026-02-01T00:00:00.000Z'))).toBe('2026-02');
    expect(monthOf(new Date('2026-03-01T00:30:00+01:00'))).toBe('2026-02');
  });

  test('the past twelve are newest first and cross the year; no day of the month skips one', () => {
    const expected = [
      '2026-02',
      '2026-01',
      '2025-12',
      '2025-11',
      '2025-10',
      '2025-09',
      '2025-08',
      '2025-07',
      '2025-06',
      '2025-05',
      '2025-04',
      '2025-03',
    ];
    for (const day of ['2026-03-01T00:00:00Z', '2026-03-30T12:00:00Z', '2026-03-31T23:59:59Z'])
      expect(monthsBefore(new Date(day), 12)).toEqual(expected);
  });

  test('the next one begins at midnight UTC of its first day', () => {
    expect(nextMonthStart(new Date('2026-12-31T23:59:59.999Z')).toISOString()).toBe('2027-01-01T00:00:00.000Z');
    expect(nextMonthStart(new Date('2028-01-31T00:00:00.000Z')).toISOString()).toBe('2028-02-01T00:00:00.000Z');
  });
});

describe('cost', () => {
  test('is the tier’s base for each started block of 8 000 tokens, output counting four times', () => {
    expect(creditsFor('quick', { input_tokens: 0, output_tokens: 0 })).toBe(1);
    expect(creditsFor('standard', { input_tokens: 8_000, output_tokens: 0 })).toBe(3);
    expect(creditsFor('premium', { input_tokens: 8_001, output_tokens: 0 })).toBe(20);
    expect(creditsFor('expert', { input_tokens: 0, output_tokens: 2_001 })).toBe(50);
  });

  test('the estimate is never below what a call of that prompt with the expected output costs', () => {
    const prompt = 'x'.repeat(35_000);
    expect(estimateCredits('quick', prompt)).toBe(creditsFor('quick', { input_tokens: 10_000, output_tokens: 500 }));
    expect(estimateCredits('quick', 'x'.repeat(26_250), 16)).toBe(1);
    expect(estimateCredits('quick', 'x'.repeat(26_250))).toBe(2);
  });
});
