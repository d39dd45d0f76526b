/** The times of a CronJob's schedule, which validation has taken. */

interface Range {
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}

const months = ['', ...'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')]
const weekdays = 'sun mon tue wed thu fri sat'.split(' ')
const ranges: readonly Range[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: weekdays },
]
const words: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const minuteMs = 60_000
/** Nothing further away is looked for: the next 29th of February is. */
const horizonMs = 5 * 366 * 24 * 60 * minuteMs

/** The first time after that moment; undefined if there is none within five years. */
export function nextTime(schedule: string, timeZone: string, afterMs: number): number | undefined {
  const every = /^@every (.*)$/.exec(schedule)
  if (every !== null) return afterMs + Math.max(1_000, durationMs(every[1] ?? ''))
  const zoned = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(schedule)
  const zone = zoned?.[1] ?? (timeZone === '' ? 'UTC' : timeZone)
  const text = zoned?.[2] ?? schedule
  const fields = (words[text] ?? text).trim().split(/\s+/)
  const sets = ranges.map((range, i) => numbersOf(fields[i] ?? '*', range))
  const areDaysFree = [fields[2], fields[4]].map(field => /^[*?]/.test(field ?? '*'))
  const localOf = localTimes(zone)
  const endMs = afterMs + horizonMs
  let atMs = (Math.floor(afterMs / minuteMs) + 1) * minuteMs
  while (atMs < endMs) {
    const local = localOf(atMs)
    const [isDay, isWeekday] = [has(sets, 2, local.day), has(sets, 4, local.weekday)]
    // Two restricted fields of days are alternatives.
    const isToday = areDaysFree.includes(true) ? isDay && isWeekday : isDay || isWeekday
    if (!has(sets, 3, local.month)) atMs += leftOf(local, Math.max(0, 27 - local.day))
    else if (!isToday) atMs += leftOf(local, 0)
    else if (!has(sets, 1, local.hour)) atMs += (60 - local.minute) * minuteMs
    else if (has(sets, 0, local.minute)) return atMs
    else atMs += minuteMs
  }
  return undefined
}

/** The time to the end of the day, or of the hour at the end of it: a clock may be put forward or
 *  back at night. Some whole days may be added. */
function leftOf({ minute, hour }: LocalTime, days: number): number {
  const hours = Math.max(0, 22 - hour) + days * 24
  return (60 - minute + hours * 60) * minuteMs
}

function has(sets: readonly ReadonlySet<number>[], field: number, value: number): boolean {
  return sets[field]?.has(value) === true
}

function numbersOf(field: string, range: Range): Set<number> {
  const numbers = new Set<number>()
  for (const part of field.split(',')) {
    const [span = '*', step] = part.split('/')
    const [first = '*', last] = span.split('-')
    const isAny = first === '*' || first === '?'
    const start = isAny ? range.min : numberOf(first, range)
    const single = step === undefined ? start : range.max
    const end = isAny ? range.max : last === undefined ? single : numberOf(last, range)
    for (let n = start; n <= end; n += Math.max(1, Number(step ?? 1))) numbers.add(n)
  }
  return numbers
}

function numberOf(text: string, { names }: Range): number {
  const at = names?.indexOf(text.toLowerCase()) ?? -1
  return at >= 0 ? at : Number(text)
}

interface LocalTime {
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly month: number
  readonly weekday: number
}

function localTimes(timeZone: string): (atMs: number) => LocalTime {
  if (timeZone === 'UTC') {
    return atMs => {
      const date = new Date(atMs)
      return {
        minute: date.getUTCMinutes(),
        hour: date.getUTCHours(),
        day: date.getUTCDate(),
        month: date.getUTCMonth() + 1,
        weekday: date.getUTCDay(),
      }
    }
  }
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    minute: 'numeric',
    hour: 'numeric',
    day: 'numeric',
    month: 'numeric',
    weekday: 'short',
  })
  return atMs => {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
    const number = (type: string): number => Number(parts.get(type as 'hour'))
    return {
      minute: number('minute'),
      hour: number('hour'),
      day: number('day'),
      month: number('month'),
      weekday: weekdays.indexOf((parts.get('weekday') ?? '').toLowerCase()),
    }
  }
}

function durationMs(text: string): number {
  const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }
  let total = 0
  for (const [, count, unit = ''] of text.matchAll(/([\d.]+)(ms|h|m|s)/g)) {
    total += Number(count) * (units[unit] ?? 0)
  }
  return total
}
