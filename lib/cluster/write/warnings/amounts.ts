/** Amounts that are none. */

import { quantityNanos } from '../../../go/quantity.ts'
import { goQuote } from '../../../go/text.ts'
import type { Place } from '../validation/place.ts'

/** Bytes are whole. */
export function ofFraction(amounts: Place, name: string): string[] {
  const amount = amounts.entries.find(([key]) => key === name)?.[1]
  const isWhole = amount === undefined || quantityNanos(amount.text) % 1_000_000_000n === 0n
  return isWhole
    ? []
    : [
        `${amount.path}: fractional byte value ${goQuote(amount.text)} is invalid, must be an integer`,
      ]
}
