/** What an invoice charges for, and what that comes to: exact, in minor units, rounded once per line. */

/** One line of an invoice. Amounts are minor units of the invoice's currency; a credit has a negative price. */
export interface InvoiceLine {
  description: string;
  /** Up to three decimals count, so that 1.25 hours are what they say. */
  quantity: number;
  unitPrice: number;
  /** Added to the line; up to three decimals count. */
  taxPercent?: number | undefined;
  sku?: string | undefined;
}

const LINES_MAX = 500;
const QUANTITY_MAX = 1_000_000;
const PRICE_MAX = 1_000_000_000_000;

/** The largest amount a record can hold, in minor units. */
export const MONEY_MAX = 1_000_000_000_000_000;

/** JSON Schema of an invoice's lines. */
export const invoiceLines = {
  type: 'array',
  minItems: 1,
  maxItems: LINES_MAX,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['description', 'quantity', 'unitPrice'],
    properties: {
      description: { type: 'string', minLength: 1, maxLength: 1_000 },
      quantity: {
        type: 'number',
        minimum: 0,
        maximum: QUANTITY_MAX,
        description: 'Three decimals count',
      },
      unitPrice: {
        type: 'integer',
        minimum: -PRICE_MAX,
        maximum: PRICE_MAX,
        description: 'In minor units; negative for a credit',
      },
      taxPercent: {
        type: 'number',
        minimum: 0,
        maximum: 100,
        description: 'Added to the line; three decimals count',
      },
      sku: { type: 'string', maxLength: 255 },
    },
  },
} as const;

const THOUSAND = 1_000n;
const HUNDRED_PERCENT = 100_000n;

const thousandths = (value: number): bigint => BigInt(Math.round(value * 1_000));

/** Half a unit goes away from zero, so that a credit takes back exactly what its charge asked for. */
function divided(value: bigint, by: bigint): bigint {
  const size = value < 0n ? -value : value;
  const whole = (size * 2n + by) / (by * 2n);
  return value < 0n ? -whole : whole;
}

function lineTotal({ quantity, unitPrice, taxPercent = 0 }: InvoiceLine): bigint {
  const net = divided(thousandths(quantity) * BigInt(unitPrice), THOUSAND);
  return net + divided(net * thousandths(taxPercent), HUNDRED_PERCENT);
}

/** Sum of the lines with their tax in minor units; null when no record could hold it. */
export function invoiceTotal(lines: readonly InvoiceLine[]): number | null {
  const total = lines.reduce((sum, line) => sum + lineTotal(line), 0n);
  const max = BigInt(MONEY_MAX);
  return total > max || total < -max ? null : Number(total);
}
