/** Quantities, as `500m` or `128Mi`, in the one form that the API server writes: it reads whatever
 *  number was stored and prints it anew, so `0.5` becomes `500m`, and `1.5Gi` becomes `1536Mi`. */

/** The canonical form of a quantity, or `undefined` if it is none, or one whose form we are not
 *  sure of. */
export function canonicalQuantity(text: string): string | undefined {
  const read = readQuantity(text)
  if (read === undefined) return undefined
  return read.isKept ? text : formOf(read)
}

/** A canonical quantity rounded away from zero to thousandths, as Go rounds those of lists of
 *  resources. */
export function roundedToThousandths(text: string): string {
  const read = readQuantity(text)
  if (read === undefined || read.exponent >= -3) return text
  return formOf({ ...read, ...roundedUp(read, -3) }) ?? text
}

/** The sum of quantities, in the form of the first that is not zero. */
export function sumOfQuantities(texts: readonly string[]): string {
  const first = texts.map(readQuantity).find(read => read !== undefined && read.value !== 0n)
  if (first === undefined) return '0'
  const nanos = texts.reduce((sum, text) => sum + quantityNanos(text), 0n)
  const value = nanos < 0n ? -nanos : nanos
  return formOf({ ...first, value, exponent: -9, isNegative: nanos < 0n }) ?? '0'
}

/** The value of a quantity in billionths, rounded away from zero; 0 where there is none. */
export function quantityNanos(text: string): bigint {
  const read = readQuantity(text)
  if (read === undefined) return 0n
  const { value, exponent } = roundedUp(read, -9)
  const nanos = value * 10n ** BigInt(exponent + 9)
  return read.isNegative ? -nanos : nanos
}

/** A quantity as it was written; its value is that of a positive number. */
interface Quantity extends Decimal {
  readonly isNegative: boolean
  readonly style: 'binary' | 'exponent' | 'suffix'
  /** Go takes the text for canonical, and keeps it. */
  readonly isKept: boolean
}

function readQuantity(text: string): Quantity | undefined {
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', suffix = ''] = match
  if (whole + fraction === '' || whole.length + fraction.length > maxDigits) return undefined
  const binary = binarySuffixes.indexOf(suffix)
  const exponent = binary > 0 ? 0 : decimalExponent(suffix)
  if (exponent === undefined) return undefined
  const digits = BigInt(whole + fraction)
  return {
    value: binary > 0 ? digits << BigInt(10 * binary) : digits,
    exponent: exponent - fraction.length,
    isNegative: sign === '-',
    style: binary > 0 ? 'binary' : /^[eE]./.test(suffix) ? 'exponent' : 'suffix',
    isKept: digits !== 0n && isKeptAsText(match, binary),
  }
}

function formOf(quantity: Quantity): string | undefined {
  if (quantity.value === 0n) return '0'
  const number = roundedUp(quantity, -9)
  const { style, isNegative } = quantity
  const form = style === 'binary' ? binaryForm(number) : decimalForm(number, style)
  return form === undefined ? undefined : isNegative ? `-${form}` : form
}

/** True if `bytes[start..end)` is surely canonical: a few digits and a suffix, and no smaller
 *  number with the next larger suffix says the same. False means only that it is not obvious. */
export function isPlainQuantity(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start
  let value = 0
  for (; at < end; at++) {
    const digit = (bytes[at] as number) - 0x30
    if (!(digit >= 0 && digit <= 9)) break
    value = value * 10 + digit
  }
  const digits = at - start
  if (digits === 0 || digits > 12) return false
  if (bytes[start] === 0x30) return digits === 1 && at === end
  if (at === end) return value % 1000 !== 0
  const suffix = bytes[at] as number
  if (at + 1 === end) return value % 1000 !== 0 && plainSuffixes[suffix] === 1
  return (
    at + 2 === end &&
    bytes[at + 1] === 0x69 &&
    plainSuffixes[suffix] === 1 &&
    value % 1024 !== 0 &&
    (suffix === 0x4d || suffix === 0x47 ? digits <= 6 : suffix === 0x4b && digits <= 12)
  )
}

/** True if Go takes the text for canonical and keeps it, as the sign in `+1`, the fraction of
 *  `1.500` and the letter in `1E3`. Its reader looks at no more than the last digits and the suffix
 *  (ParseQuantity in apimachinery's quantity.go). */
function isKeptAsText(match: RegExpExecArray, binary: number): boolean {
  const [, , zeros = '', fraction = '', suffix = ''] = match
  const whole = zeros.replace(/^0+/, '') || '0'
  if (binary > 0) {
    // A number of ten bits takes three digits.
    const fits = whole.length + 3 * binary <= 14
    return fraction === '' && fits && Number(whole.slice(-3)) % 8 !== 0
  }
  const shifted = whole + fraction
  const scale = (decimalExponent(suffix) ?? NaN) - fraction.length
  const isSmall = shifted.length <= 18 && scale >= -9
  return isSmall && scale % 3 === 0 && !shifted.endsWith('000') && !shifted.startsWith('0')
}

/** `value` times ten to the power of `exponent`. */
interface Decimal {
  readonly value: bigint
  readonly exponent: number
}

const pattern = /^([+-]?)(\d*)(?:\.(\d*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d{1,9})?$/
/** Far above what a 64-bit number holds, and small enough to compute with. */
const maxDigits = 60
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
/** Larger binary quantities are capped. */
const maxBinary = 2n ** 63n - 1n

/** The suffixes of one letter that `isPlainQuantity` accepts. */
const plainSuffixes: Uint8Array = new Uint8Array(256)
for (const suffix of 'mkKMGTPEun') plainSuffixes[suffix.charCodeAt(0)] = 1

function decimalExponent(suffix: string): number | undefined {
  const index = decimalSuffixes.indexOf(suffix)
  if (index >= 0) return index * 3 - 9
  const exponent = Number(suffix.slice(1))
  return Math.abs(exponent) <= maxDigits ? exponent : undefined
}

/** Rounds away from zero to a multiple of ten to the power `least`. */
function roundedUp({ value, exponent }: Decimal, least: number): Decimal {
  if (exponent >= least) return { value, exponent }
  const unit = 10n ** BigInt(least - exponent)
  return { value: (value + unit - 1n) / unit, exponent: least }
}

function decimalForm(number: Decimal, style: 'suffix' | 'exponent'): string | undefined {
  let { value, exponent } = number
  while (value % 10n === 0n) {
    value /= 10n
    exponent++
  }
  while (exponent % 3 !== 0) {
    value *= 10n
    exponent--
  }
  if (style === 'exponent') return exponent === 0 ? `${value}` : `${value}e${exponent}`
  const suffix = decimalSuffixes[exponent / 3 + 3]
  return suffix === undefined ? undefined : `${value}${suffix}`
}

/** Below 1024, and where a fraction would be lost, the decimal form is kept. */
function binaryForm(number: Decimal): string | undefined {
  const unit = number.exponent < 0 ? 10n ** BigInt(-number.exponent) : 1n
  const isSmall = number.value < 1024n * unit
  if (isSmall || number.value % unit !== 0n) return decimalForm(number, 'suffix')
  let value = number.value / unit
  if (value > maxBinary) value = maxBinary
  let steps = 0
  while (value % 1024n === 0n) {
    value /= 1024n
    steps++
  }
  return `${value}${binarySuffixes[steps] ?? ''}`
}
