/** The headers in which a front proxy says who sent a request: which they are, what they say, and how ours are made.
 *
 *  Servers disagree about `-` and `_` in names, so a name counts in both spellings when it is dropped, and only as configured when it
 *  is believed. */

import type { Identity } from '../../kube/access-review.ts'
import { withAuthenticated } from './certificates.ts'
import type { PassedHeaders } from './caller.ts'

/** Names in lower case, in the order in which they are looked at. */
export interface IdentityHeaderNames {
  readonly user: readonly string[]
  readonly uid: readonly string[]
  readonly group: readonly string[]
  readonly extraPrefix: readonly string[]
}

/** What kube-apiserver sends to aggregated servers. */
export const defaultIdentityHeaders: IdentityHeaderNames = {
  user: ['x-remote-user'],
  uid: ['x-remote-uid'],
  group: ['x-remote-group'],
  extraPrefix: ['x-remote-extra-'],
}

/** True for a header that says who somebody is: the configured ones, and always the usual ones. Nobody's may be passed on but those
 *  that we write ourselves. */
export function isIdentityHeader(name: string, configured: IdentityHeaderNames): boolean {
  const plain = spelled(name)
  return [configured, defaultIdentityHeaders].some(
    ({ user, uid, group, extraPrefix }) =>
      [...user, ...uid, ...group].some(known => spelled(known) === plain) ||
      extraPrefix.some(prefix => plain.startsWith(spelled(prefix))),
  )
}

/** True for a header with which somebody asks to be taken for somebody else. */
export function isImpersonationHeader(name: string): boolean {
  return spelled(name).startsWith('impersonate-')
}

function spelled(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}

/** Who the headers say that somebody is; undefined if they name no user. Only a verified front proxy is asked.
 *
 *  The lines are taken as they were sent: Node joins lines of the same name with commas, and a group whose name has a comma would
 *  become two. */
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
  // Not an object: the keys are whatever a front proxy sends, such as `constructor`.
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

/** Names and values stand in turn. Values are bytes to Node, and UTF-8 to upstream. */
function linesOf(rawHeaders: readonly string[]): HeaderLine[] {
  const lines: HeaderLine[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const value = Buffer.from(rawHeaders[i + 1] ?? '', 'latin1').toString('utf8')
    lines.push({ name: (rawHeaders[i] ?? '').toLowerCase(), value })
  }
  return lines
}

/** Upstream escapes what may not stand in a header's name. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** The headers of a front proxy that speaks for somebody. */
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

/** The headers with which we, with our own credentials, act as somebody. */
export function headersOfImpersonation(identity: Identity): PassedHeaders {
  return identityHeaders(
    { user: 'impersonate-user', uid: 'impersonate-uid', group: 'impersonate-group' },
    'impersonate-extra-',
    identity,
  )
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

/** As Node writes headers: a character for each byte. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function escaped(key: string): string {
  return encodeURIComponent(key).toLowerCase()
}
