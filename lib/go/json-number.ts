/** JSON numbers as the API server writes them again. It reads a number without fraction and
 *  exponent that fits int64 as an integer, and everything else as a float64; it writes floats in
 *  their shortest form, as JavaScript does but for -0. */

const integer = /^-?(0|[1-9][0-9]*)$/
const number = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/

/** The form that Go writes for the number that `text` is; undefined if it is no JSON number, or too
 *  large for a float64. */
export function canonicalNumber(text: string): string | undefined {
  if (integer.test(text)) {
    if (text.length < 19) return text === '-0' ? '0' : text
    // Only so many digits can fit; parsing longer ones would take quadratic time.
    if (text.length <= 20) {
      const value = BigInt(text)
      if (BigInt.asIntN(64, value) === value) return text
    }
  } else if (!number.test(text)) {
    return undefined
  }
  const float = Number(text)
  if (!Number.isFinite(float)) return undefined
  return Object.is(float, -0) ? '-0' : String(float)
}
