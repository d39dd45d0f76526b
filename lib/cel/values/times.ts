/** Moments and spans of time as Go reads, writes and adds them. */

import { dateFromDays } from '@watchglass/go'
import { failure } from './errors.ts'
import { intFrom } from './numbers.ts'
import { Duration, type Int, Timestamp } from './values.ts'
import { spendWork } from './work.ts'

const billion = 1_000_000_000n
const secondsMin = -62_135_596_800
const secondsMax = 253_402_300_799
const durationMax = 2n ** 63n - 1n
const durationMin = -(2n ** 63n)

export function timestampFrom(seconds: number, nanos: number): Timestamp {
  if (seconds < secondsMin || seconds > secondsMax) throw failure('timestamp overflow')
  return new Timestamp(seconds, nanos)
}

export function durationFrom(nanos: bigint): Duration {
  if (nanos > durationMax || nanos < durationMin) throw failure('duration overflow')
  return new Duration(nanos)
}

/** The moment so many nanoseconds later. */
export function later({ seconds, nanos }: Timestamp, by: bigint): Timestamp {
  const total = BigInt(seconds) * billion + BigInt(nanos) + by
  const rest = ((total % billion) + billion) % billion
  return timestampFrom(Number((total - rest) / billion), Number(rest))
}

export function between(a: Timestamp, b: Timestamp): Duration {
  return durationFrom(BigInt(a.seconds - b.seconds) * billion + BigInt(a.nanos - b.nanos))
}

const rfc3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?([Zz]|[+-]\d{2}:\d{2})$/

/** The moment in a text as RFC 3339 writes it; undefined if it is none. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = rfc3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const nanos = Number((match[7] ?? '').slice(0, 9).padEnd(9, '0'))
  const zone = match[8] ?? 'Z'
  const offset = /^[Zz]$/.test(zone) ? 0 : offsetOf(zone)
  if (offset === undefined) return undefined
  const seconds = daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
  return timestampFrom(seconds - offset, nanos)
}

/** Seconds east of UTC of `+02:00`. */
function offsetOf(zone: string): number | undefined {
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number)
  if (hours > 23 || minutes > 59) return undefined
  const seconds = hours * 3600 + minutes * 60
  return zone.startsWith('-') ? -seconds : seconds
}

function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
}

export function daysSince1970(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return era * 146_097 + dayOfEra + dayOfYear - 719_468
}

const pad = (value: number, digits: number): string => String(value).padStart(digits, '0')

export function timestampText({ seconds, nanos }: Timestamp): string {
  const days = Math.floor(seconds / 86_400)
  const rest = seconds - days * 86_400
  const [year, month, day] = dateFromDays(days)
  const clock = [Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60]
  const fraction = nanos === 0 ? '' : `.${pad(nanos, 9).replace(/0+$/, '')}`
  const time = clock.map(part => pad(part, 2)).join(':')
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}T${time}${fraction}Z`
}

const units: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['µs', 1000n],
  ['μs', 1000n],
  ['ms', 1_000_000n],
  ['s', billion],
  ['m', 60n * billion],
  ['h', 3600n * billion],
])

const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y

/** time.ParseDuration: nanoseconds, or undefined where the text is no duration. */
export function parseDuration(text: string): bigint | undefined {
  const isNegative = text.startsWith('-')
  const rest = /^[+-]/.test(text) ? text.slice(1) : text
  if (rest === '0') return 0n
  if (rest === '' || rest.length > 1000) return undefined
  let total = 0n
  for (let at = 0; at < rest.length;) {
    part.lastIndex = at
    const match = part.exec(rest)
    if (match === null) return undefined
    const [whole, digits = '', fraction = '', unit = ''] = match
    if (digits === '' && fraction === '') return undefined
    const size = units.get(unit) ?? 0n
    const shown = fraction.slice(0, 18)
    total += BigInt(digits === '' ? 0 : digits) * size
    if (shown !== '') total += (BigInt(shown) * size) / 10n ** BigInt(shown.length)
    if (total > 2n ** 63n) return undefined
    at += whole.length
  }
  if (!isNegative && total > durationMax) return undefined
  return isNegative ? -total : total
}

/** Seconds with a fraction: `1.5s`. */
export function durationText({ nanos }: Duration): string {
  const positive = nanos < 0n ? -nanos : nanos
  const fraction = pad(Number(positive % billion), 9).replace(/0+$/, '')
  const seconds = `${nanos < 0n ? '-' : ''}${positive / billion}`
  return fraction === '' ? `${seconds}s` : `${seconds}.${fraction}s`
}

/** The parts of a moment in a time zone. */
export interface TimeParts {
  readonly year: number
  /** From 1. */
  readonly month: number
  readonly day: number
  readonly weekday: number
  readonly yearDay: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
  readonly milliseconds: number
}

export function partsIn(moment: Timestamp, zone: string): TimeParts {
  const seconds = moment.seconds + zoneOffset(moment, zone)
  const days = Math.floor(seconds / 86_400)
  const rest = seconds - days * 86_400
  const [year, month, day] = dateFromDays(days)
  return {
    year,
    month,
    day,
    weekday: (((days + 4) % 7) + 7) % 7,
    yearDay: days - daysSince1970(year, 1, 1),
    hours: Math.floor(rest / 3600),
    minutes: Math.floor(rest / 60) % 60,
    seconds: rest % 60,
    milliseconds: Math.floor(moment.nanos / 1_000_000),
  }
}

/** Seconds east of UTC at a moment. Names of zones come from expressions, so few are kept. */
function zoneOffset(moment: Timestamp, zone: string): number {
  if (zone === 'UTC' || zone === '') return 0
  const fixed = /^([+-]?)(\d{1,2}):(\d{2})$/.exec(zone)
  if (fixed !== null) {
    const [, sign, hours, minutes] = fixed
    const offset = Number(hours) * 3600 + Number(minutes) * 60
    return sign === '-' ? -offset : offset
  }
  spendWork(zoneWork)
  const shown = formatOf(zone).format(moment.seconds * 1000)
  const match = /(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)/.exec(shown)
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (match ?? [])
    .slice(1)
    .map(Number)
  const local = daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
  return local - moment.seconds
}

/** To ask for the offset of a zone that has a name. */
const zoneWork = 100
/** To learn of a zone. */
const newZoneWork = 2_000
const zonesMax = 100
const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known !== undefined) return known
  spendWork(newZoneWork)
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    throw failure(`unknown time zone ${zone}`)
  }
  if (formats.size >= zonesMax) formats.clear()
  formats.set(zone, format)
  return format
}

/** Whole units in a duration. */
export function unitsIn({ nanos }: Duration, unit: bigint): Int {
  return intFrom(nanos / unit)
}
