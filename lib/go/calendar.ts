/** Times as milliseconds since 1970 and as RFC 3339 text. `Date` is a clock, too, and so out of reach in the core. */

/** Milliseconds of `2006-01-02T15:04:05Z`, perhaps with a fraction or another zone; `null` for the zero time, and `undefined`
 *  for what is no time. */
export function millisecondsFromText(text: string): number | null | undefined {
  const match = form.exec(text)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number)
  const isValid = month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month)
  if (!isValid || hour > 23 || minute > 59 || second > 59) return undefined
  const fraction = match[7] === undefined ? 0 : Number(`0.${match[7]}`) * 1000
  const minutes = (daysFromDate(year, month, day) * 24 + hour) * 60 + minute
  const time = ((minutes - zoneMinutes(match[8] ?? 'Z')) * 60 + second) * 1000 + fraction
  return time === zeroTime ? null : time
}

const form = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/

/** Year 1, where Go's zero time is. */
export const zeroTime = -62_135_596_800_000

function zoneMinutes(zone: string): number {
  if (zone === 'Z') return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6))
  return zone.startsWith('-') ? -minutes : minutes
}

function daysOfMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
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

function pad(value: number, length: number): string {
  return String(value).padStart(length, '0')
}

// Both directions count from March, so that leap days come last, in eras of 400 years, after which the calendar repeats.
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

function dateFromDays(days: number): [year: number, month: number, day: number] {
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
