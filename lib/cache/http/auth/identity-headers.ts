/** The headers in which a front proxy names the user of a request: their names, how they are read,
 *  and how ours are written.
 *
 *  Some servers treat `-` and `_` in names alike. So a header is dropped in both spellings, and
 *  believed only as it is configured. */

import type { Identity } from '@watchglass/kube'
import { withAuthenticated } from './certificates.ts'
import type { PassedHeaders } from './caller.ts'

/** Names in lower case, in the order in which they are read. */
export interface IdentityHeaderNames {
  readonly user: readonly string[]
  readonly uid: readonly string[]
  readonly group: readonly string[]
  readonly extraPrefix: readonly string[]
}

/** The headers that kube-apiserver sends to aggregated servers. */
export const defaultIdentityHeaders: IdentityHeaderNames = {
  user: ['x-remote-user'],
  uid: ['x-remote-uid'],
  group: ['x-remote-group'],
  extraPrefix: ['x-remote-extra-'],
}

/** True for an identity header: the configured ones, and always X-Remote-*. A client's must
 *  never be passed on; only those that we write ourselves are sent. */
export function isIdentityHeader(name: string, configured: IdentityHeaderNames): boolean {
  const plain = spelled(name)
  return [configured, defaultIdentityHeaders].some(
    ({ user, uid, group, extraPrefix }) =>
      [...user, ...uid, ...group].some(known => spelled(known) === plain) ||
      extraPrefix.some(prefix => plain.startsWith(spelled(prefix))),
  )
}

/** True for a header of an impersonation. */
export function isImpersonationHeader(name: string): boolean {
  return spelled(name).startsWith('impersonate-')
}

function spelled(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}

/** The user that the headers name; undefined if they name none. Called for verified front proxies
 *  only.
 *
 *  The lines are taken as they were sent: Node joins lines of the same name with commas, and a
 *  group whose name has a comma would become two. */
export function identityFromHeaders(
  rawHeaders: readonly string[],
  names: IdentityHeaderNames,
): Identity | undefined {
  const lines = linesOf(rawHeaders)
  const valuesOf = (name: string): string[] =>
    lines.filter(line => line.name === name).map(({ value }) => value)
  const firstOf = (all: readonly string[]): string =>
    all.map(name => valuesOf(name)[0] ?? '').find(text => text !== '') ?? ''
  const user = firstOf(names.user)
  if (user === '') return undefined
  // A Map: a front proxy may send any key, such as `constructor`.
  const extra = new Map<string, string[]>()
  for (const prefix of names.extraPrefix) {
    for (const { name, value } of lines) {
      if (!name.startsWith(prefix)) continue
      const key = unescaped(name.slice(prefix.length))
      const known = extra.get(key)
      if (known === undefined) extra.set(key, [value])
      else known.push(value)
    }
  }
  const groups = withAuthenticated(
    user,
    names.group.flatMap(valuesOf).filter(text => text !== ''),
  )
  return { user, uid: firstOf(names.uid), groups, extra: Object.fromEntries(extra) }
}

interface HeaderLine {
  /** In lower case. */
  readonly name: string
  readonly value: string
}

/** Names and values alternate. Node gives values as bytes; upstream reads them as UTF-8. */
function linesOf(rawHeaders: readonly string[]): HeaderLine[] {
  const lines: HeaderLine[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const value = Buffer.from(rawHeaders[i + 1] ?? '', 'latin1').toString('utf8')
    lines.push({ name: (rawHeaders[i] ?? '').toLowerCase(), value })
  }
  return lines
}

/** Upstream escapes characters that a header's name must not have. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** The headers in which a front proxy names a user. */
export function headersOfIdentity(identity: Identity, names: IdentityHeaderNames): PassedHeaders {
  const { user, uid, group, extraPrefix } = defaultIdentityHeaders
  const first = (some: readonly string[], usual: readonly string[]): string =>
    some[0] ?? usual[0] ?? ''
  return identityHeaders(
    {
      user: first(names.user, user),
      uid: first(names.uid, uid),
      group: first(names.group, group),
    },
    first(names.extraPrefix, extraPrefix),
    identity,
  )
}

/** The headers with which we impersonate a user with our own credentials. */
export function headersOfImpersonation(identity: Identity): PassedHeaders {
  return identityHeaders(
    { user: 'impersonate-user', uid: 'impersonate-uid', group: 'impersonate-group' },
    'impersonate-extra-',
    identity,
  )
}

/** True if headers can name the user as it is: HTTP drops spaces around a value, so that a group
 *  `" system:masters"` would arrive as `system:masters`, and forbids control characters. */
export function isSaidByHeaders({ user, groups }: Identity): boolean {
  return [user, ...groups].every(isHeaderValue)
}

function isHeaderValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x7f) return false
  }
  return !text.startsWith(' ') && !text.endsWith(' ')
}

function identityHeaders(
  names: { readonly user: string; readonly uid: string; readonly group: string },
  extraPrefix: string,
  { user, uid, groups, extra }: Identity,
): PassedHeaders {
  const headers: Record<string, string | string[]> = { [names.user]: bytesOf(user) }
  if (uid !== '') headers[names.uid] = bytesOf(uid)
  if (groups.length > 0) headers[names.group] = groups.map(bytesOf)
  for (const [key, values] of Object.entries(extra)) {
    headers[extraPrefix + escaped(key)] = values.map(bytesOf)
  }
  return headers
}

/** As Node writes headers: one character for each byte. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function escaped(key: string): string {
  return encodeURIComponent(key).toLowerCase()
}
