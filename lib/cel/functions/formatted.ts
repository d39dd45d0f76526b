/** `'%s is %d'.format([a, b])`. */

import { CostExceeded, failure, type CelError } from '../values/errors.ts'
import { goQuote } from '@watchglass/go'
import { isInt } from '../values/numbers.ts'
import {
  CelList,
  CelMap,
  Double,
  Duration,
  itemsOf,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from '../values/values.ts'
import { ofItems, spendWork } from '../values/work.ts'
import { textOf } from './conversions.ts'

const precisionDefault = 6
const precisionMax = 1000
/** To write a number, or a list without its items. */
const clauseWork = 4

/** A clause of a format, or the text between two. */
export type Clause =
  | { readonly text: string }
  | { readonly verb: string; readonly precision: number | undefined }

/** The clauses of a format; throws the problem of one that is none. */
export function clausesOf(format: string): readonly Clause[] {
  const clauses: Clause[] = []
  let text = ''
  for (let at = 0; at < format.length; at++) {
    const char = format.charAt(at)
    if (char !== '%') {
      text += char
      continue
    }
    if (at + 1 >= format.length) throw failure('unexpected end of string')
    if (format.charAt(at + 1) === '%') {
      text += '%'
      at++
      continue
    }
    clauses.push({ text })
    text = ''
    const match = /^%(?:\.(\d*))?([^]?)/.exec(format.slice(at, at + 12)) as RegExpExecArray
    const [whole, digits, verb = ''] = match
    if (!'sdfexXbo'.includes(verb) || verb === '') {
      throw failure(`could not parse formatting clause: unrecognized formatting clause "${verb}"`)
    }
    const precision = digits === undefined || digits === '' ? undefined : Number(digits)
    if ((precision ?? 0) > precisionMax) throw failure('precision is too large')
    clauses.push({ verb, precision })
    at += whole.length - 1
  }
  clauses.push({ text })
  return clauses
}

export function formatted(format: string, args: readonly Value[]): string {
  let next = 0
  return clausesOf(format)
    .map(clause => {
      if ('text' in clause) return clause.text
      if (next >= args.length) throw failure(`index ${next} out of range`)
      const arg = args[next++] as Value
      spendWork(clauseWork + 2 * (clause.precision ?? 0))
      try {
        return clauseText(clause.verb, clause.precision, arg)
      } catch (error) {
        if (!(error instanceof Error) || error instanceof CostExceeded) throw error
        throw failure(`error during formatting: ${error.message}`)
      }
    })
    .join('')
}

function clauseText(verb: string, precision: number | undefined, arg: Value): string {
  switch (verb) {
    case 's':
      return plainText(arg)
    case 'd':
      if (isInt(arg)) return String(arg)
      if (arg instanceof Uint) return String(arg.value)
      throw decimalProblem(arg)
    case 'f':
      return fixed(numberIn(arg, 'fixed-point'), precision ?? precisionDefault)
    case 'e':
      return scientific(numberIn(arg, 'scientific'), precision ?? precisionDefault)
    case 'b':
      if (typeof arg === 'boolean') return arg ? '1' : '0'
      return radixText(arg, 2, 'only integers and bools can be formatted as binary')
    case 'o':
      return radixText(arg, 8, 'octal clause can only be used on integers')
    default: {
      const text = hexText(arg)
      return verb === 'X' ? text.toUpperCase() : text
    }
  }
}

function decimalProblem(arg: Value): CelError {
  return failure(`decimal clause can only be used on integers, was given ${typeName(arg)}`)
}

function numberIn(arg: Value, kind: string): number {
  if (arg instanceof Double) return arg.value
  if (arg === 'NaN') return NaN
  if (arg === 'Infinity') return Infinity
  if (arg === '-Infinity') return -Infinity
  throw failure(`${kind} clause can only be used on doubles, was given ${typeName(arg)}`)
}

function special(number: number): string | undefined {
  if (Number.isNaN(number)) return 'NaN'
  return Number.isFinite(number) ? undefined : number > 0 ? '∞' : '-∞'
}

/** As a printer for English writes it: with commas. */
function fixed(number: number, precision: number): string {
  const text = special(number) ?? fixedText(number, precision)
  const [whole = '', fraction] = text.split('.')
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

export function fixedText(number: number, precision: number): string {
  const digits = Math.min(100, precision)
  const text =
    Math.abs(number) < 1e21
      ? roundedToEven(number, digits)
      : `${BigInt(number)}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`
  return text + '0'.repeat(precision - digits)
}

/** toFixed() takes the larger of two that are as near; Go takes the even one. */
function roundedToEven(number: number, digits: number): string {
  const text = number.toFixed(digits)
  if (digits > 60 || !/[13579]$/.test(text)) return text
  const exact = number.toFixed(Math.min(100, digits + 40))
  const point = exact.indexOf('.') + 1
  const isTie = /^50*$/.test(exact.slice(point + digits)) || (digits === 0 && /\.50*$/.test(exact))
  if (!isTie) return text
  return exact.slice(0, digits === 0 ? point - 1 : point + digits)
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/** The precision is a width here, as in Kubernetes' version of the extension. */
function scientific(number: number, width: number): string {
  const known = special(number)
  if (known !== undefined) return known
  const [mantissa = '', exponent = '0'] = number.toExponential(precisionDefault).split('e')
  const power = Number(exponent)
  const digits = String(Math.abs(power)).padStart(2, '0')
  const raised = Array.from(digits, digit => superscripts.charAt(Number(digit))).join('')
  return `${mantissa}×10${power < 0 ? '⁻' : ''}${raised}`.padStart(width)
}

function radixText(arg: Value, radix: number, problem: string): string {
  if (isInt(arg)) return arg.toString(radix)
  if (arg instanceof Uint) return arg.value.toString(radix)
  throw failure(`${problem}, was given ${typeName(arg)}`)
}

function hexText(arg: Value): string {
  if (typeof arg === 'string') return hexText(Buffer.from(arg))
  if (arg instanceof Uint8Array) {
    spendWork(ofItems(arg.length))
    return Buffer.from(arg).toString('hex')
  }
  return radixText(arg, 16, 'only integers, byte buffers, and strings can be formatted as hex')
}

/** A value under `%s`. */
export function plainText(arg: Value): string {
  if (arg === null) return 'null'
  if (arg instanceof CelList) {
    return `[${itemsOf(arg).map(inList).join(', ')}]`
  }
  if (arg instanceof CelMap) return mapText(arg)
  if (arg instanceof Uint8Array) {
    spendWork(ofItems(arg.length))
    return Buffer.from(arg).toString()
  }
  const isPlain =
    typeof arg !== 'object' ||
    arg instanceof Double ||
    arg instanceof Uint ||
    arg instanceof Timestamp ||
    arg instanceof Duration ||
    arg instanceof TypeValue
  const text = isPlain ? textOf(arg) : undefined
  if (text === undefined) {
    throw failure(
      `string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ${typeName(arg)}`,
    )
  }
  return text
}

/** A value in a list or a map. */
function inList(value: Value): string {
  spendWork(clauseWork)
  if (typeof value === 'string') {
    spendWork(ofItems(value.length))
    return goQuote(value)
  }
  if (value instanceof Uint8Array) return `b${goQuote(Buffer.from(value).toString())}`
  if (value instanceof Timestamp) return `timestamp(${goQuote(plainText(value))})`
  if (value instanceof Duration) return `duration(${goQuote(plainText(value))})`
  if (value instanceof Double) {
    if (Number.isFinite(value.value)) return fixedText(value.value, precisionDefault)
    return goQuote(plainText(value))
  }
  return plainText(value)
}

function mapText(map: CelMap): string {
  const entries = map.keys().map(key => {
    const isKey = ['string', 'boolean'].includes(typeof key) || isInt(key) || key instanceof Uint
    if (!isKey) throw failure(`no formatting function for map key of type ${typeName(key)}`)
    return [inList(key), inList(map.get(key) ?? null)] as const
  })
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${sorted.map(([key, value]) => `${key}:${value}`).join(', ')}}`
}
