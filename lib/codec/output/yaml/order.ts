/** The order of names in YAML that go-yaml v2 writes: runs of digits compare as numbers, and
 *  letters come after everything else. */

/** Negative when `a` comes before `b`. */
export function compareNames(a: string, b: string): number {
  const common = firstDifference(a, b)
  // What is equal needs no look, but a pair of surrogates must not be cut in two.
  const start = common > 0 && isHighSurrogate(a.charCodeAt(common - 1)) ? common - 1 : common
  const [left, right] = [a.codePointAt(start), b.codePointAt(start)]
  if (left === undefined || right === undefined) return a.length - b.length
  const [isLeftLetter, isRightLetter] = [isLetter(left), isLetter(right)]
  if (isLeftLetter && isRightLetter) return left - right
  if (isLeftLetter || isRightLetter) return isRightLetter ? -1 : 1
  const isInNumber = left === zero || right === zero ? hasDigitAboveZero(a, start) : false
  const [leftNumber, rightNumber] = [numberAt(a, start), numberAt(b, start)]
  const lead = isInNumber ? 1n : 0n
  const difference = leadingNumber(lead, leftNumber) - leadingNumber(lead, rightNumber)
  if (difference !== 0n) return difference < 0n ? -1 : 1
  return leftNumber.length - rightNumber.length || left - right
}

const zero = 0x30

function firstDifference(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  let i = 0
  while (i < length && a.charCodeAt(i) === b.charCodeAt(i)) i++
  return i
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00
}

function isLetter(codePoint: number): boolean {
  if (codePoint < 0x80) return (codePoint | 0x20) >= 0x61 && (codePoint | 0x20) <= 0x7a
  return /^\p{L}$/u.test(String.fromCodePoint(codePoint))
}

/** Whether the digits just before `at` are more than leading zeros. */
function hasDigitAboveZero(text: string, at: number): boolean {
  for (let i = at - 1; i >= 0; i--) {
    const code = text.charCodeAt(i)
    if (code < 0x30 || code > 0x39) return false
    if (code !== 0x30) return true
  }
  return false
}

function numberAt(text: string, at: number): string {
  return /^\d*/.exec(text.slice(at))?.[0] ?? ''
}

/** As Go's int64 arithmetic has it: long runs of digits wrap around. */
function leadingNumber(lead: bigint, digits: string): bigint {
  // Of more digits, 64 bits keep nothing but the last 64: ten to the power of 64 is a multiple of
  // two to that power.
  const kept = digits.length > 64 ? digits.slice(-64) : `${lead}${digits}`
  return BigInt.asIntN(64, BigInt(kept))
}
