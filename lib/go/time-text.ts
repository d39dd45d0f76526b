/** Times in RFC 3339, as objects carry them in JSON, as seconds since 1970. */

/** The first second of year 1, which is Go's zero time. */
export const zeroSeconds = -62_135_596_800

/** A moment: whole seconds, and what is left, cut to microseconds. */
export interface Moment {
  readonly seconds: number
  readonly micros: number
}

/** The moment that the text names, or `undefined` if it is no time. */
export function secondsFromText(text: string): Moment | undefined {
  if (text.length === 20 && text.endsWith('Z') && plainPattern.test(text)) return plainMoment(text)
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number)
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month)
  if (!isDate || hour > 23 || minute > 59 || second > 59) return undefined
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  if (offsetHours > 24 || offsetMinutes > 59) return undefined
  const offset =
    (offsetHours * 60 + offsetMinutes) * (match[8]?.startsWith('-') === true ? -60 : 60)
  return {
    seconds: daysFromDate(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset,
    micros: Number((match[7] ?? '').slice(1, 7).padEnd(6, '0')),
  }
}

/** A time as Kubernetes writes it, which most are. */
const plainPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

function plainMoment(text: string): Moment | undefined {
  const two = (at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 528
  const [month, day, hour, minute, second] = [two(5), two(8), two(11), two(14), two(17)]
  const year = two(0) * 100 + two(2)
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month)
  if (!isDate || hour > 23 || minute > 59 || second > 59) return undefined
  const time = hour * 3600 + minute * 60 + second
  return { seconds: daysFromDate(year, month, day) * 86_400 + time, micros: 0 }
}

const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-](\d\d):(\d\d))$/

/** Days since 1970, counted in eras of 400 years that begin on the first of March. */
function daysFromDate(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year
  const era = Math.floor(marchYear / 400)
  const yearOfEra = marchYear - era * 400
  const marchMonth = month > 2 ? month - 3 : month + 9
  const dayOfYear = Math.floor((153 * marchMonth + 2) / 5) + day - 1
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return era * 146_097 + yearOfEra * 365 + leapDays + dayOfYear - 719_468
}

function daysOf(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  if (month === 2) return isLeap ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
