/** The formats of texts that schemas of custom resources may ask for, as the server's library
 *  checks them. */

import { goParseDuration, isAddress, isPrefix } from '@watchglass/go'

type Check = (text: string) => boolean

const group = '[0-9a-f]{4}-?'
const uuid = (third: string, fourth: string): Check =>
  matching(new RegExp(`^[0-9a-f]{8}-?${group}${third}-?${fourth}-?[0-9a-f]{12}$`, 'i'))
const any4 = '[0-9a-f]{4}'
const variant = '[89ab][0-9a-f]{3}'

const shortName = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const hostLabel = '[a-zA-Z0-9\\p{S}\\p{L}]'

/** By the name of the format without dashes. */
const checks: Readonly<Record<string, Check>> = {
  bsonobjectid: matching(/^[0-9a-fA-F]{24}$/),
  uri: isRequestUri,
  email: isEmail,
  hostname: isHostname,
  ipv4: text => isAddress(text) && text.includes('.'),
  ipv6: text => isAddress(text) && text.includes(':'),
  cidr: isPrefix,
  mac: matching(
    /^(?:(?:[0-9a-fA-F]{2}([:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2}){4}(?:(?:\1[0-9a-fA-F]{2}){2})?(?:(?:\1[0-9a-fA-F]{2}){12})?)|(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}|(?:[0-9a-fA-F]{4}\.){3}[0-9a-fA-F]{4}|(?:[0-9a-fA-F]{4}\.){9}[0-9a-fA-F]{4})$/,
  ),
  uuid: uuid(any4, any4),
  uuid3: uuid('3[0-9a-f]{3}', any4),
  uuid4: uuid('4[0-9a-f]{3}', variant),
  uuid5: uuid('5[0-9a-f]{3}', variant),
  isbn: text => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: matching(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  hexcolor: matching(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  rgbcolor: matching(
    /^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$/,
  ),
  byte: matching(
    /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/,
  ),
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: isDateTime,
  k8sshortname: text => text.length <= 63 && matching(new RegExp(`^${shortName}$`))(text),
  k8slongname: text =>
    text.length <= 253 && matching(new RegExp(`^${shortName}(\\.${shortName})*$`))(text),
}

/** True if servers check texts of the format. */
export function isKnownFormat(format: string): boolean {
  return checkOf(format) !== undefined
}

/** True if the text has the format; every text has a format that is not known. */
export function hasFormat(text: string, format: string): boolean {
  return checkOf(format)?.(text) ?? true
}

/** Dashes do not count, but only some names with dashes are known. */
function checkOf(format: string): Check | undefined {
  const name = format.startsWith('k8s-') ? format : format.replaceAll('-', '')
  const key =
    name === 'k8s-short-name' || name === 'k8s-long-name' ? name.replaceAll('-', '') : name
  return Object.hasOwn(checks, key) ? checks[key] : undefined
}

function matching(pattern: RegExp): Check {
  return text => pattern.test(text) && !text.endsWith('\n')
}

function isHostname(text: string): boolean {
  const pattern = new RegExp(
    `^(${hostLabel}((-?${hostLabel}{0,62})?)|(${hostLabel}(([a-zA-Z0-9\\-\\p{S}\\p{L}]{0,61}${hostLabel})?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$`,
    'u',
  )
  if (text.length > 255 || text.split('.').some(label => Buffer.byteLength(label) > 63)) {
    return false
  }
  return pattern.test(text)
}

/** True for an address that net/mail accepts: a plain one, or one in angle brackets after a
 *  name. */
function isEmail(text: string): boolean {
  const address = /^[^<>@"]*<([^<>]+)>$/.exec(text.trim())?.[1] ?? text.trim()
  const at = address.lastIndexOf('@')
  if (at <= 0 || at === address.length - 1) return false
  const local = address.slice(0, at)
  const atom = '[^\\x00-\\x20()<>\\[\\]:;@\\\\,."]+'
  const isLocal = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[^"\\\\\\r\\n]|\\\\.)*")$`).test(local)
  const domain = address.slice(at + 1)
  const isDomain = new RegExp(`^${atom}(?:\\.${atom})*$`).test(domain) || /^\[.*\]$/.test(domain)
  return isLocal && isDomain
}

/** True for a text that net/url.ParseRequestURI accepts: an absolute URI or an absolute path. */
function isRequestUri(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  if (text === '' || /[\x00-\x1f\x7f]/.test(text)) return false
  if (text === '*') return true
  if (/%(?![0-9a-fA-F]{2})/.test(text.split('?')[0] ?? '')) return false
  if (text.startsWith('/')) return true
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text)?.[0]
  if (scheme === undefined) return false
  const rest = text.slice(scheme.length)
  if (!rest.startsWith('//')) return true
  const host = /^\/\/([^/?]*)/.exec(rest)?.[1] ?? ''
  const bare = host.slice(host.lastIndexOf('@') + 1)
  if (bare.includes(' ') || /[<>"\\^`{|}]/.test(bare)) return false
  return bare.startsWith('[') ? /^\[[^\]]*\](?::\d*)?$/.test(bare) : /^[^:]*(?::\d*)?$/.test(bare)
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  return month >= 1 && month <= 12 && day >= 1 && day <= (days[month - 1] ?? 0)
}

function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t')
  if (time === undefined || !isDate(date)) return false
  const match = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/.exec(time)
  if (match === null) return false
  const [, hours = '', minutes = '', seconds = ''] = match
  return hours <= '23' && minutes <= '59' && seconds <= '59'
}

/** Go's own, or whole numbers with units as words. */
function isDuration(text: string): boolean {
  if (typeof goParseDuration(text) === 'number') return true
  const units =
    /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i
  return [...text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)].some(([, , unit = '']) => units.test(unit))
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]+/g, '')
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 10; i++) sum += (i + 1) * (digits[i] === 'X' ? 10 : Number(digits[i]))
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]+/g, '')
  if (!/^[0-9]{13}$/.test(digits)) return false
  let sum = 0
  for (let i = 0; i < 12; i++) sum += (i % 2 === 0 ? 1 : 3) * Number(digits[i])
  return (10 - (sum % 10)) % 10 === Number(digits[12])
}

function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/[^0-9]+/g, '')
  const pattern =
    /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/
  if (!pattern.test(digits)) return false
  let sum = 0
  for (const [i, digit] of Array.from(digits).reverse().entries()) {
    const doubled = Number(digit) * (i % 2 === 1 ? 2 : 1)
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
