/** When CronJobs run: five fields of times, or a word for them. */

import { goParseDuration, goParseInt } from '@watchglass/go'
import type { Place } from '../../../validation/place.ts'

interface Bounds {
  readonly min: number
  readonly max: number
  readonly names: readonly string[]
}

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const weekdays = 'sun mon tue wed thu fri sat'.split(' ')
const fieldBounds: readonly Bounds[] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: weekdays },
]
const descriptors = 'yearly annually monthly weekly daily midnight hourly'.split(' ')

/** A schedule; a stored one may name a time zone. */
export function checkSchedule(schedule: Place, timeZone: Place, mayNameZone: boolean): void {
  const problem = problemOf(schedule.text)
  if (problem !== undefined) schedule.invalid(problem)
  if (!schedule.text.includes('TZ')) return
  if (!mayNameZone) {
    schedule.invalid('cannot use TZ or CRON_TZ in schedule, use timeZone field instead')
  } else if (timeZone.isSet) {
    schedule.invalid('cannot use both timeZone field and TZ or CRON_TZ in schedule')
  }
}

function problemOf(schedule: string): string | undefined {
  let text = schedule
  const zone = /^(?:CRON_)?TZ=([^ ]*)( ?)/.exec(text)
  if (zone !== null) {
    const [prefix, name = '', space] = zone
    if (space === '') {
      return 'invalid schedule format: runtime error: slice bounds out of range [:-1]'
    }
    if (!isTimeZone(name)) {
      const problem = isSafePath(name) ? `unknown time zone ${name}` : 'time: invalid location name'
      return `provided bad location ${name}: ${problem}`
    }
    text = text.slice(prefix.length).trim()
  }
  if (text.startsWith('@')) return problemOfDescriptor(text)
  const fields = text.split(/\s+/).filter(field => field !== '')
  if (fields.length !== 5) {
    return `expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`
  }
  for (const [i, bounds] of fieldBounds.entries()) {
    for (const range of (fields[i] ?? '').split(',').filter(part => part !== '')) {
      const problem = problemOfRange(range, bounds)
      if (problem !== undefined) return problem
    }
  }
  return undefined
}

function problemOfDescriptor(text: string): string | undefined {
  if (descriptors.includes(text.slice(1))) return undefined
  if (!text.startsWith('@every ')) return `unrecognized descriptor: ${text}`
  const parsed = goParseDuration(text.slice('@every '.length))
  return typeof parsed === 'number'
    ? undefined
    : `failed to parse duration ${text}: ${parsed.error}`
}

/** `5`, `1-5`, `*` or `?`, each with a step: `1-30/5`. */
function problemOfRange(text: string, { min, max, names }: Bounds): string | undefined {
  const [range = '', stepText, ...moreSteps] = text.split('/')
  const [low = '', high, ...moreLimits] = range.split('-')
  let start: number | string = min
  let end: number | string = max
  if (low !== '*' && low !== '?') {
    start = numberOf(low, names, min)
    if (typeof start === 'string') return start
    end = high === undefined ? start : numberOf(high, names, min)
    if (moreLimits.length > 0) return `too many hyphens: ${text}`
    if (typeof end === 'string') return end
  }
  const step = stepText === undefined ? 1 : numberOf(stepText, [], 0)
  if (moreSteps.length > 0) return `too many slashes: ${text}`
  if (typeof step === 'string') return step
  if (stepText !== undefined && high === undefined) end = max
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${text}`
  if (end > max) return `end of range (${end}) above maximum (${max}): ${text}`
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`
  return step === 0 ? `step of range should be a positive number: ${text}` : undefined
}

/** The number, or what is wrong with its text. */
function numberOf(text: string, names: readonly string[], first: number): number | string {
  const named = names.indexOf(text.toLowerCase())
  if (named >= 0) return named + first
  const { error } = goParseInt(text, 'Atoi')
  if (error !== undefined) return `failed to parse int from ${text}: ${error}`
  const number = Number(text)
  return number < 0 ? `negative number (${number}) not allowed: ${text}` : number
}

export function checkTimeZone(zone: Place): void {
  if (!zone.isSet) return
  if (zone.text === '') {
    zone.invalid('timeZone must be nil or non-empty string')
    return
  }
  const isWellFormed = zone.text.split('/').every(part => {
    return part !== '.' && part !== '..' && /^[A-Za-z._0-9+][A-Za-z._0-9+-]{0,13}$/.test(part)
  })
  if (!isWellFormed) {
    zone.invalidName(`unknown time zone ${zone.text}`)
    return
  }
  if (zone.text.toLowerCase() === 'local') {
    zone.invalid(
      'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
    )
  }
  if (!isTimeZone(zone.text)) zone.invalidName(`unknown time zone ${zone.text}`)
}

/** A name that Go looks for in its database. */
function isSafePath(name: string): boolean {
  return !/^[/\\]|\.\./.test(name)
}

/** The names of the database that no folder has: ICU knows other ones beside them. */
const zones: ReadonlySet<string> = new Set(
  'CET CST6CDT Cuba EET EST EST5EDT Egypt Eire Factory GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT UTC Universal W-SU WET Zulu'.split(
    ' ',
  ),
)

/** A zone of the database, where names have one spelling and offsets none. */
function isTimeZone(name: string): boolean {
  if (name === '' || name === 'Local' || zones.has(name)) return true
  if (!/^[A-Z].*\/[A-Z]/.test(name) || /\/[a-z]/.test(name)) return false
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase()
  } catch {
    return false
  }
}
