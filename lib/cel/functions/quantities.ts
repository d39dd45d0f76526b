/** Quantities and versions: `quantity('1Gi').isGreaterThan(quantity('1Mi'))`. */

import { canonicalQuantity, goQuote, quantityNanos } from '@watchglass/go'
import type { Library } from '../declarations.ts'
import { failure, noOverload } from '../values/errors.ts'
import { intFrom, isInt } from '../values/numbers.ts'
import { Double, Opaque, type Value } from '../values/values.ts'
import { spendWork } from '../values/work.ts'

const billion = 1_000_000_000n

/** An amount; exported for languages that reckon with it. */
export class Quantity extends Opaque {
  readonly typeName = 'kubernetes.Quantity'
  readonly nanos: bigint

  constructor(nanos: bigint) {
    super()
    this.nanos = nanos
  }

  equals(other: Opaque): boolean {
    return other instanceof Quantity && other.nanos === this.nanos
  }
}

const format = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const suffixes = /^(?:n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/

function quantityProblem(text: string): string | undefined {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/.exec(text)
  if (match === null || text === '') return `quantities must match the regular expression ${format}`
  const [, , whole = '', fraction = '', suffix = ''] = match
  if (whole + fraction === '') return 'unable to parse numeric part of quantity'
  return suffixes.test(suffix) ? undefined : "unable to parse quantity's suffix"
}

function quantityFrom(text: string): Quantity {
  const problem = quantityProblem(text)
  if (problem !== undefined) throw failure(problem)
  // Texts that no number of Go holds are not read.
  if (canonicalQuantity(text) === undefined) {
    throw failure('unable to parse numeric part of quantity')
  }
  return new Quantity(quantityNanos(text))
}

/** To read a character, and to quote it in an error. */
const charWork = 1 / 4

function textIn(value: Value): string {
  if (typeof value !== 'string') throw noOverload()
  spendWork(value.length * charWork)
  return value
}

function nanosIn(value: Value): bigint {
  if (value instanceof Quantity) return value.nanos
  if (isInt(value)) return BigInt(value) * billion
  throw noOverload()
}

function isWhole({ nanos }: Quantity): boolean {
  const whole = nanos / billion
  return nanos % billion === 0n && whole < 2n ** 63n && whole >= -(2n ** 63n)
}

/** A semantic version: the parts of blang/semver. */
export class Semver extends Opaque {
  readonly typeName = 'kubernetes.Semver'
  readonly parts: readonly bigint[]
  readonly prerelease: readonly string[]

  constructor(parts: readonly bigint[], prerelease: readonly string[]) {
    super()
    this.parts = parts
    this.prerelease = prerelease
  }

  equals(other: Opaque): boolean {
    return other instanceof Semver && compareVersions(this, other) === 0
  }
}

/** The version in a text, as blang/semver reads it; throws `CelError`. */
export function semverFrom(text: string): Semver {
  if (text === '') throw failure('Version string empty')
  const [, major = '', minor = '', rest = ''] = /^([^.]*)\.([^.]*)\.([^]*)$/.exec(text) ?? []
  if (!/^[^.]*\.[^.]*\./.test(text)) throw failure('No Major.Minor.Patch elements found')
  const plus = rest.indexOf('+')
  const build = plus < 0 ? undefined : rest.slice(plus + 1).split('.')
  const beforeBuild = plus < 0 ? rest : rest.slice(0, plus)
  const dash = beforeBuild.indexOf('-')
  const patch = dash < 0 ? beforeBuild : beforeBuild.slice(0, dash)
  const prerelease = dash < 0 ? [] : beforeBuild.slice(dash + 1).split('.')
  const parts = [
    ['Major', major],
    ['Minor', minor],
    ['Patch', patch],
  ].map(([name = '', digits = '']) => versionPart(name, digits))
  for (const part of prerelease) checkPrerelease(part)
  for (const part of build ?? []) {
    if (part === '') throw failure('Build meta data is empty')
    if (!/^[0-9A-Za-z-]+$/.test(part)) {
      throw failure(`Invalid character(s) found in build meta data ${goQuote(part)}`)
    }
  }
  return new Semver(parts, prerelease)
}

function versionPart(name: string, digits: string): bigint {
  if (!/^\d*$/.test(digits)) {
    throw failure(`Invalid character(s) found in ${name.toLowerCase()} number ${goQuote(digits)}`)
  }
  if (digits.length > 1 && digits.startsWith('0')) {
    throw failure(`${name} number must not contain leading zeroes ${goQuote(digits)}`)
  }
  if (digits === '') throw failure('strconv.ParseUint: parsing "": invalid syntax')
  const value = digits.length > 20 ? 2n ** 64n : BigInt(digits)
  if (value < 2n ** 64n) return value
  throw failure(`strconv.ParseUint: parsing ${goQuote(digits)}: value out of range`)
}

function checkPrerelease(part: string): void {
  if (part === '') throw failure('Prerelease is empty')
  if (/^\d+$/.test(part) && part.length > 1 && part.startsWith('0')) {
    throw failure(`Numeric PreRelease version must not contain leading zeroes ${goQuote(part)}`)
  }
  if (!/^[0-9A-Za-z-]+$/.test(part)) {
    throw failure(`Invalid character(s) found in prerelease ${goQuote(part)}`)
  }
}

/** The version of a text that is less strict: `v1.02` is 1.2.0. */
function normalized(text: string): string {
  const [major = '', minor, ...rest] = text.replace(/^v/, '').split('.')
  const parts = [major, ...(minor === undefined ? [] : [minor])]
  if (rest.length > 0) parts.push(rest.join('.'))
  const trimmed = parts.map(part => {
    if (part.length <= 1) return part
    const short = part.replace(/^0+/, '')
    return /^\d/.test(short) ? short : `0${short}`
  })
  if (trimmed.length < 3 && /[+-]/.test(trimmed.at(-1) ?? '')) {
    throw failure('short version cannot contain PreRelease/Build meta data')
  }
  while (trimmed.length < 3) trimmed.push('0')
  return trimmed.join('.')
}

function readSemver(text: Value, isLoose: Value = false): Semver {
  return semverFrom(isLoose === true ? normalized(textIn(text)) : textIn(text))
}

/** The order of two versions, by semver.org: builds do not count. */
export function compareVersions(a: Semver, b: Semver): number {
  for (const [i, part] of a.parts.entries()) {
    const other = b.parts[i] ?? 0n
    if (part !== other) return part < other ? -1 : 1
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) {
    return Math.sign(Number(a.prerelease.length === 0) - Number(b.prerelease.length === 0))
  }
  for (const [i, part] of a.prerelease.entries()) {
    const other = b.prerelease[i]
    if (other === undefined) return 1
    if (part === other) continue
    const [isNumber, isOtherNumber] = [/^\d+$/.test(part), /^\d+$/.test(other)]
    if (isNumber && isOtherNumber) return BigInt(part) < BigInt(other) ? -1 : 1
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return part < other ? -1 : 1
  }
  return a.prerelease.length === b.prerelease.length ? 0 : -1
}

/** The order of two quantities, or two versions. */
function order(a: Value, b: Value): number {
  if (a instanceof Semver && b instanceof Semver) return compareVersions(a, b)
  if (!(a instanceof Quantity) || !(b instanceof Quantity)) throw noOverload()
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0
}

function isRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

function quantityOf(value: Value): Quantity {
  if (!(value instanceof Quantity)) throw noOverload()
  return value
}

function versionPartOf(i: number): (value: Value) => Value {
  return value => {
    if (!(value instanceof Semver)) throw noOverload()
    return intFrom(BigInt.asIntN(64, value.parts[i] ?? 0n))
  }
}

const [quantity, semver] = ['kubernetes.Quantity', 'kubernetes.Semver']

export const quantities: Library = {
  signatures: {
    quantity: [`string_to_quantity: (string) ${quantity}`],
    isQuantity: ['is_quantity_string: (string) bool'],
    sign: [`quantity_sign: (${quantity}) int`],
    isGreaterThan: [`quantity_is_greater_than: ${quantity}.(${quantity}) bool`],
    isLessThan: [`quantity_is_less_than: ${quantity}.(${quantity}) bool`],
    compareTo: [`quantity_compare_to: ${quantity}.(${quantity}) int`],
    asApproximateFloat: [`quantity_get_float: ${quantity}.() double`],
    asInteger: [`quantity_get_int: ${quantity}.() int`],
    isInteger: [`quantity_is_integer: ${quantity}.() bool`],
    add: [
      `quantity_add: ${quantity}.(${quantity}) ${quantity}`,
      `quantity_add_int: ${quantity}.(int) ${quantity}`,
    ],
    sub: [
      `quantity_sub: ${quantity}.(${quantity}) ${quantity}`,
      `quantity_sub_int: ${quantity}.(int) ${quantity}`,
    ],
  },
  implementations: {
    quantity: (text: Value) => quantityFrom(textIn(text)),
    isQuantity: (text: Value) => isRead(() => quantityFrom(textIn(text))),
    sign: (value: Value) => {
      const { nanos } = quantityOf(value)
      return nanos > 0n ? 1 : nanos < 0n ? -1 : 0
    },
    isGreaterThan: (a: Value, b: Value) => order(a, b) > 0,
    isLessThan: (a: Value, b: Value) => order(a, b) < 0,
    compareTo: order,
    asApproximateFloat: (value: Value) => new Double(Number(quantityOf(value).nanos) / 1e9),
    asInteger: (value: Value) => {
      if (!isWhole(quantityOf(value))) throw failure('cannot convert value to integer')
      return intFrom(quantityOf(value).nanos / billion)
    },
    isInteger: (value: Value) => isWhole(quantityOf(value)),
    add: (a: Value, b: Value) => new Quantity(quantityOf(a).nanos + nanosIn(b)),
    sub: (a: Value, b: Value) => new Quantity(quantityOf(a).nanos - nanosIn(b)),
  },
}

export const semvers: Library = {
  signatures: {
    semver: [
      `string_to_semver: (string) ${semver}`,
      `string_bool_to_semver: (string, bool) ${semver}`,
    ],
    isSemver: ['is_semver_string: (string) bool', 'is_semver_string_bool: (string, bool) bool'],
    isGreaterThan: [`semver_is_greater_than: ${semver}.(${semver}) bool`],
    isLessThan: [`semver_is_less_than: ${semver}.(${semver}) bool`],
    compareTo: [`semver_compare_to: ${semver}.(${semver}) int`],
    major: [`semver_major: ${semver}.() int`],
    minor: [`semver_minor: ${semver}.() int`],
    patch: [`semver_patch: ${semver}.() int`],
  },
  implementations: {
    semver: readSemver,
    isSemver: (text: Value, isLoose?: Value) => isRead(() => readSemver(text, isLoose ?? false)),
    major: versionPartOf(0),
    minor: versionPartOf(1),
    patch: versionPartOf(2),
  },
}
