/** Conversions between types: `int('1')`, `string(1)`, `type(x)`. */

import { goFloat, goParseInt, goParseUint } from '@watchglass/go'
import type { Library } from '../declarations.ts'
import { failure, noOverload, type CelError } from '../values/errors.ts'
import { intFrom, intFromDouble, isInt, uintFrom, uintFromDouble } from '../values/numbers.ts'
import {
  durationText,
  parseDuration,
  parseTimestamp,
  timestampFrom,
  timestampText,
} from '../values/times.ts'
import {
  Double,
  Duration,
  Opaque,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from '../values/values.ts'

function cannot(value: Value, to: string): CelError {
  return failure(`type conversion error from '${typeName(value)}' to '${to}'`)
}

function toInt(value: Value): Value {
  if (isInt(value)) return value
  if (value instanceof Double) return intFromDouble(value.value)
  if (value instanceof Uint) return intFrom(value.value)
  if (value instanceof Timestamp) return value.seconds
  if (value instanceof Duration) return intFrom(value.nanos)
  if (typeof value !== 'string') throw noOverload('int')
  const parsed = goParseInt(value).value
  if (parsed === undefined) throw cannot(value, 'int')
  return intFrom(parsed)
}

function toUint(value: Value): Value {
  if (value instanceof Uint) return value
  if (isInt(value)) return uintFrom(BigInt(value))
  if (value instanceof Double) return uintFromDouble(value.value)
  if (typeof value !== 'string') throw noOverload('uint')
  const parsed = goParseUint(value).value
  if (parsed === undefined) throw cannot(value, 'uint')
  return new Uint(parsed)
}

const floatText = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

const hexText = /^([+-]?)0[xX]_?([\da-fA-F_]*)(?:\.([\da-fA-F_]*))?[pP]([+-]?\d+)$/

/** The number in a text as Go's strconv.ParseFloat reads it; NaN if there is none. */
function goFloatOf(text: string): number {
  if (text.length > floatMaxChars || /^_|__|_$|[^\da-fA-FxX]_|_[^\da-fA-F]/.test(text)) return NaN
  const plain = text.replaceAll('_', '')
  if (floatText.test(plain)) return Number(plain)
  const hex = hexText.exec(text)
  if (hex === null) return NaN
  const [, sign = '', whole = '', part = '', power = '0'] = hex.map(one => one?.replaceAll('_', ''))
  if (whole + part === '') return NaN
  const mantissa = Number(`0x${whole + part}`)
  const number = mantissa * 2 ** (Number(power) - 4 * part.length)
  return sign === '-' ? -number : number
}

const floatMaxChars = 10_000

function toDouble(value: Value): Value {
  if (value instanceof Double) return value
  if (isInt(value)) return new Double(Number(value))
  if (value instanceof Uint) return new Double(Number(value.value))
  if (typeof value !== 'string') throw noOverload('double')
  const special = /^([+-]?)(?:(inf|infinity)|nan)$/i.exec(value)
  if (special !== null) {
    if (special[2] === undefined) return new Double(NaN)
    return new Double(special[1] === '-' ? -Infinity : Infinity)
  }
  const number = goFloatOf(value)
  if (!Number.isFinite(number)) throw cannot(value, 'double')
  return new Double(number)
}

const bools: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['1', 't', 'T', 'TRUE', 'true', 'True'].map(text => [text, true])),
  ...Object.fromEntries(['0', 'f', 'F', 'FALSE', 'false', 'False'].map(text => [text, false])),
}

function toBool(value: Value): Value {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') throw noOverload('bool')
  const found = Object.hasOwn(bools, value) ? bools[value] : undefined
  if (found === undefined) throw cannot(value, 'bool')
  return found
}

/** The text of a value, or undefined if it has none. */
export function textOf(value: Value): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || isInt(value)) return String(value)
  if (value instanceof Double) return doubleText(value.value)
  if (value instanceof Uint) return String(value.value)
  if (value instanceof Timestamp) return timestampText(value)
  if (value instanceof Duration) return durationText(value)
  if (value instanceof TypeValue) return value.name
  if (value instanceof Opaque) return value.text
  return undefined
}

export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  return Object.is(value, -0) ? '-0' : goFloat(value)
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function toText(value: Value): Value {
  if (value instanceof Uint8Array) {
    try {
      return utf8.decode(value)
    } catch {
      throw failure('invalid UTF-8 in bytes, cannot convert to string')
    }
  }
  const text = textOf(value)
  if (text === undefined) throw noOverload('string')
  return text
}

function toBytes(value: Value): Value {
  if (value instanceof Uint8Array) return value
  if (typeof value !== 'string') throw noOverload('bytes')
  return Buffer.from(value)
}

function toDuration(value: Value): Value {
  if (value instanceof Duration) return value
  if (isInt(value)) throw cannot(value, 'google.protobuf.Duration')
  if (typeof value !== 'string') throw noOverload('duration')
  const nanos = parseDuration(value)
  if (nanos === undefined) throw cannot(value, 'google.protobuf.Duration')
  return new Duration(nanos)
}

function toTimestamp(value: Value): Value {
  if (value instanceof Timestamp) return value
  if (isInt(value)) return timestampFrom(Number(value), 0)
  if (typeof value !== 'string') throw noOverload('timestamp')
  const moment = parseTimestamp(value)
  if (moment === undefined) throw cannot(value, 'google.protobuf.Timestamp')
  return moment
}

/** The signatures of one conversion. */
function forms(to: string, from: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(from).map(([type, id]) => `${id}: (${type}) ${to}`)
}

export const conversions: Library = {
  signatures: {
    bool: forms('bool', { bool: 'bool_to_bool', string: 'string_to_bool' }),
    bytes: forms('bytes', { bytes: 'bytes_to_bytes', string: 'string_to_bytes' }),
    double: forms('double', {
      double: 'double_to_double',
      int: 'int64_to_double',
      string: 'string_to_double',
      uint: 'uint64_to_double',
    }),
    duration: forms('duration', {
      duration: 'duration_to_duration',
      int: 'int64_to_duration',
      string: 'string_to_duration',
    }),
    dyn: ['to_dyn: (A) dyn'],
    int: forms('int', {
      int: 'int64_to_int64',
      double: 'double_to_int64',
      duration: 'duration_to_int64',
      string: 'string_to_int64',
      timestamp: 'timestamp_to_int64',
      uint: 'uint64_to_int64',
    }),
    string: forms('string', {
      string: 'string_to_string',
      bool: 'bool_to_string',
      bytes: 'bytes_to_string',
      double: 'double_to_string',
      duration: 'duration_to_string',
      int: 'int64_to_string',
      timestamp: 'timestamp_to_string',
      uint: 'uint64_to_string',
    }),
    timestamp: forms('timestamp', {
      timestamp: 'timestamp_to_timestamp',
      int: 'int64_to_timestamp',
      string: 'string_to_timestamp',
    }),
    type: ['type: (A) type(A)'],
    uint: forms('uint', {
      uint: 'uint64_to_uint64',
      double: 'double_to_uint64',
      int: 'int64_to_uint64',
      string: 'string_to_uint64',
    }),
  },
  implementations: {
    bool: toBool,
    bytes: toBytes,
    double: toDouble,
    duration: toDuration,
    dyn: (value: Value) => value,
    int: toInt,
    string: toText,
    timestamp: toTimestamp,
    type: (value: Value) => new TypeValue(typeName(value)),
    uint: toUint,
  },
}
