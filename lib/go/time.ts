/** Times as Go reads and writes them: RFC 3339. `Date` is a clock, too, and so out of reach in the
 *  core. */

/** The first second of year 1, which is Go's zero time. */
export const zeroSeconds = -62_135_596_800

/** Go's zero time in milliseconds since 1970. */
export const zeroTime: number = zeroSeconds * 1000

/** A moment: whole seconds since 1970, and what is left, cut to microseconds. */
export interface Moment {
  readonly seconds: number
  readonly micros: number
}

/** The moment that the text names, as `time.Parse(time.RFC3339, text)` reads it; `undefined` if it
 *  is no time. */
export function momentFromText(text: string): Moment | undefined {
  if (text.length === 20 && text.endsWith('Z') && plainPattern.test(text)) return plainMoment(text)
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number)
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month)
  if (!isDate || hour > 23 || minute > 59 || second > 59) return undefined
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  // Go lets offsets of 24 hours and of 60 minutes pass, as some people write them.
  if (offsetHours > 24 || offsetMinutes > 60) return undefined
  const offset =
    (offsetHours * 60 + offsetMinutes) * (match[8]?.startsWith('-') === true ? -60 : 60)
  return {
    seconds: daysFromDate(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset,
    micros: Number((match[7] ?? '').slice(1, 7).padEnd(6, '0')),
  }
}

/** True if the text has the fraction that Go wants in a `MicroTime`: any length where none is
 *  expected, but no other length than is. */
export function hasMicros(text: string): boolean {
  return /[.,]\d{6}(?:Z|[+-]\d\d:\d\d)$/.test(text)
}

/** The time that the text names in milliseconds since 1970; `null` for the zero time, `undefined`
 *  if it is no time. */
export function millisecondsFromText(text: string): number | null | undefined {
  const moment = momentFromText(text)
  if (moment === undefined) return undefined
  const { seconds, micros } = moment
  return seconds === zeroSeconds && micros === 0 ? null : seconds * 1000 + micros / 1000
}

/** A time as Kubernetes writes it, which most are. */
const plainPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** Go takes an hour of one digit, and a comma before the fraction. */
const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)([.,]\d+)?(Z|[+-](\d\d):(\d\d))$/

function plainMoment(text: string): Moment | undefined {
  const two = (at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 528
  const [month, day, hour, minute, second] = [two(5), two(8), two(11), two(14), two(17)]
  const year = two(0) * 100 + two(2)
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month)
  if (!isDate || hour > 23 || minute > 59 || second > 59) return undefined
  const time = hour * 3600 + minute * 60 + second
  return { seconds: daysFromDate(year, month, day) * 86_400 + time, micros: 0 }
}

/** RFC 3339 in UTC, without a fraction. */
export function textFromMilliseconds(milliseconds: number | null): string {
  const seconds = Math.floor((milliseconds ?? zeroTime) / 1000)
  const days = Math.floor(seconds / 86_400)
  const rest = seconds - days * 86_400
  const [year, month, day] = dateFromDays(days)
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`
  const minute = Math.floor(rest / 60) % 60
  return `${date}T${pad(Math.floor(rest / 3600), 2)}:${pad(minute, 2)}:${pad(rest % 60, 2)}Z`
}

/** A time with microseconds, as `MicroTime` writes it. */
export function microTimeText(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  const micros = Math.floor((milliseconds - seconds * 1000) * 1000)
  return `${textFromMilliseconds(milliseconds).slice(0, -1)}.${pad(micros, 6)}Z`
}

function pad(value: number, length: number): string {
  return String(value).padStart(length, '0')
}

const canonicalLength = '2006-01-02T15:04:05Z'.length
const dash = 0x2d
const colon = 0x3a

/** True if `bytes[start..end)` is a time that decoding and encoding leave as it is: RFC 3339 in
 *  UTC, whole seconds, a date that exists. Years before 1000 are not: the zero time, which is
 *  written otherwise, is among them. */
export function isCanonicalTime(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== canonicalLength) return false
  if (bytes[start + 4] !== dash || bytes[start + 7] !== dash || bytes[start + 10] !== 0x54) {
    return false
  }
  if (bytes[start + 13] !== colon || bytes[start + 16] !== colon || bytes[end - 1] !== 0x5a) {
    return false
  }
  const century = twoDigits(bytes, start)
  const year = twoDigits(bytes, start + 2)
  const month = twoDigits(bytes, start + 5)
  const day = twoDigits(bytes, start + 8)
  if (century < 10 || year < 0 || month < 1 || month > 12) return false
  if (day < 1 || day > daysOfMonth(century * 100 + year, month)) return false
  const hour = twoDigits(bytes, start + 11)
  const minute = twoDigits(bytes, start + 14)
  const second = twoDigits(bytes, start + 17)
  return hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 59
}

/** Negative if one of them is no digit. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] as number) - 0x30
  const ones = (bytes[at + 1] as number) - 0x30
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}

function daysOfMonth(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  if (month === 2) return isLeap ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

// Both directions count from March, so that leap days come last, in eras of 400 years, after which
// the calendar repeats.
const daysOfEra = 146_097
const daysBefore1970 = 719_468

function daysFromDate(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return era * daysOfEra + yearOfEra * 365 + leapDays + dayOfYear - daysBefore1970
}

/** The date so many days after the first of January 1970. */
export function dateFromDays(days: number): [year: number, month: number, day: number] {
  const shifted = days + daysBefore1970
  const era = Math.floor(shifted / daysOfEra)
  const dayOfEra = shifted - era * daysOfEra
  const leapDays =
    Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365)
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = ((shiftedMonth + 2) % 12) + 1
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  return [yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day]
}
