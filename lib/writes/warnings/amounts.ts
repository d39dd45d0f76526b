/** Warnings about amounts of resources. */

import { goQuote, quantityNanos } from '@watchglass/go'
import type { Place } from '../validation/place.ts'

/** The warning about an amount of bytes that is not whole. */
export function ofFraction(amounts: Place, name: string): string[] {
  const amount = amounts.entries.find(([key]) => key === name)?.[1]
  const isWhole = amount === undefined || quantityNanos(amount.text) % 1_000_000_000n === 0n
  return isWhole
    ? []
    : [
        `${amount.path}: fractional byte value ${goQuote(amount.text)} is invalid, must be an integer`,
      ]
}
