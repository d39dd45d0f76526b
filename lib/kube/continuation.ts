/** Continue tokens in upstream's own format, so that one made here works there, on another replica,
 *  and after a restart: `{"v":"meta.k8s.io/v1","rv":534,"start":"/m-c\u0000"}` in base64url without
 *  padding.
 *
 *  A client may send any token, so nothing in it is trusted: `start` is appended to the prefix that
 *  the request itself may read, and must be a clean path, so that it cannot lead out of that
 *  prefix. Tokens can be encrypted, so that clients cannot read the key in them; encryption needs
 *  keys and randomness, and is passed in. */

import { assert, type Key, keyAfter, keyFromText, textFromKey } from '@watchglass/base'
import {
  GoJsonError,
  goJsonString,
  type GoJsonValue,
  goParseInt,
  parseGoJson,
} from '@watchglass/go'
import { badRequest, continuationExpired } from './status.ts'

/** The place where a list continues. */
export interface Continuation {
  /** The first key of the next page, relative to the list's prefix: without a slash at the
   *  beginning. */
  readonly start: string
  /** The revision of the first page; undefined: continue at the newest state, which is not
   *  consistent with the pages before. */
  readonly revision: number | undefined
  /** The revision with all its digits. */
  readonly revisionText: string
}

/** Hides the contents of tokens from clients. `prefix` is that of the list: a token is valid for no
 *  other list. */
export interface TokenEncryption {
  /** Makes an opaque token. */
  encrypt(token: string, prefix: Key): string
  /** The plain token; undefined if it is not encrypted, not with our keys, or not for this list. */
  decrypt(encrypted: string, prefix: Key): string | undefined
  /** True if the token looks like one of this or another version of ours. */
  isEncrypted(token: string): boolean
  /** Plain tokens are no tokens of ours: they may be of another cluster. */
  readonly isOnly?: boolean | undefined
}

/** The encryption of one list's tokens. */
export interface HiddenTokens {
  readonly prefix: Key
  /** Undefined: tokens are plain. */
  readonly encryption?: TokenEncryption | undefined
}

const tokenVersion = 'meta.k8s.io/v1'

/** Decodes a client's token; refuses an invalid one with upstream's 400. One that was encrypted
 *  with a key that is gone, or by a version that did it otherwise, has expired: clients then list
 *  again. */
export function decodeContinuation(token: string, hidden?: HiddenTokens): Continuation {
  const decrypted = hidden?.encryption?.decrypt(token, hidden.prefix)
  if (decrypted === undefined && hidden?.encryption !== undefined) {
    const { encryption } = hidden
    if (encryption.isOnly === true || encryption.isEncrypted(token)) throw continuationExpired()
  }
  const { version, revision, start } = decodeFields(decrypted ?? token)
  if (version !== tokenVersion) {
    throw invalid(
      `continue key is not valid: server does not recognize this encoded version ${version}`,
    )
  }
  if (revision === 0n) {
    throw invalid(
      `continue key is not valid: incorrect encoded start resourceVersion (version ${tokenVersion})`,
    )
  }
  if (start === '') {
    throw invalid(`continue key is not valid: encoded start key empty (version ${tokenVersion})`)
  }
  const rooted = start.startsWith('/') ? start : `/${start}`
  if (!isCleanPath(rooted)) throw invalid(`continue key is not valid: ${start}`)
  const isConsistent = revision > 0n
  return {
    start: rooted.slice(1),
    revision: isConsistent ? Math.min(Number(revision), Number.MAX_SAFE_INTEGER) : undefined,
    revisionText: revision.toString(),
  }
}

export interface NextPage {
  /** The last key that the page has looked at. */
  readonly last: Key
  /** The list's prefix, which the token leaves out. */
  readonly prefix: Key
  readonly revision: number
  /** Upstream's watch cache begins `start` with a slash, etcd's own lists do not; both mean the
   *  same. */
  readonly hasSlash: boolean
}

/** The token for the page after `last`. */
export function encodeContinuation(page: NextPage, encryption?: TokenEncryption): string {
  const { last, prefix, revision, hasSlash } = page
  assert(last.startsWith(prefix), 'a token stays in the prefix of its list')
  const rest = textFromKey(keyAfter(last).slice(prefix.length) as Key)
  return encodeToken(revision, hasSlash ? `/${rest}` : rest, { prefix, encryption })
}

/** The token that continues where an expired one would have, but at the newest state. */
export function inconsistentToken(expired: Continuation, hidden: HiddenTokens): string {
  return encodeToken(-1, expired.start, hidden)
}

/** The key at which a page begins. */
export function startKey(continuation: Continuation, prefix: Key): Key {
  return (prefix + keyFromText(continuation.start)) as Key
}

function encodeToken(
  revision: number,
  start: string,
  { prefix, encryption }: HiddenTokens,
): string {
  const json = `{"v":"${tokenVersion}","rv":${revision},"start":${goJsonString(start)}}`
  const token = Buffer.from(json).toString('base64url')
  return encryption === undefined ? token : encryption.encrypt(token, prefix)
}

interface TokenFields {
  readonly version: string
  readonly revision: bigint
  readonly start: string
}

function decodeFields(token: string): TokenFields {
  const bytes = decodeBase64(token)
  let value: GoJsonValue
  try {
    value = parseGoJson(bytes)
  } catch (error) {
    if (!(error instanceof GoJsonError)) throw error
    throw invalid(`continue key is not valid: ${error.message}`)
  }
  if (value.kind === 'null') return { version: '', revision: 0n, start: '' }
  if (value.kind !== 'object') {
    throw invalid(
      `continue key is not valid: json: cannot unmarshal ${value.kind} into Go value of type storage.continueToken`,
    )
  }
  return fieldsOfObject(value.members)
}

/** As encoding/json reads the token: names match in any case, the last of several values counts,
 *  null changes nothing, and of several wrong types the first is reported. */
function fieldsOfObject(members: readonly (readonly [string, GoJsonValue])[]): TokenFields {
  const texts: Record<'v' | 'start', string> = { v: '', start: '' }
  let revision = 0n
  let problem: string | undefined
  for (const [name, value] of members) {
    const field = name.toLowerCase()
    if (value.kind === 'null') continue
    if (field === 'v' || field === 'start') {
      if (value.kind === 'string') texts[field] = value.text
      else problem ??= wrongType(value, field, 'string')
    } else if (field === 'rv') {
      const parsed = value.kind === 'number' ? goParseInt(value.text).value : undefined
      if (parsed !== undefined) revision = parsed
      else problem ??= wrongType(value, field, 'int64')
    }
  }
  if (problem !== undefined) throw invalid(`continue key is not valid: json: ${problem}`)
  return { version: texts.v, revision, start: texts.start }
}

function wrongType(value: GoJsonValue, field: string, type: string): string {
  const found = value.kind === 'number' && type === 'int64' ? `number ${value.text}` : value.kind
  return `cannot unmarshal ${found} into Go struct field continueToken.${field} of type ${type}`
}

/** base64.RawURLEncoding: line breaks are skipped, anything else outside the alphabet is an error
 *  at its place. */
function decodeBase64(token: string): Buffer {
  const illegal = /[^A-Za-z0-9_\-\r\n]/.exec(token)
  if (illegal !== null) throw illegalBase64(Buffer.byteLength(token.slice(0, illegal.index)))
  const digits = token.replace(/[\r\n]/g, '')
  if (digits.length % 4 === 1) throw illegalBase64(token.length - 1)
  return Buffer.from(digits, 'base64url')
}

function illegalBase64(at: number): Error {
  return invalid(`continue key is not valid: illegal base64 data at input byte ${at}`)
}

/** True if path.Clean changes nothing: no empty, `.` or `..` segments, and no slash at the end. */
function isCleanPath(rooted: string): boolean {
  if (rooted === '/') return true
  const segments = rooted.split('/').slice(1)
  return segments.every(segment => segment !== '' && segment !== '.' && segment !== '..')
}

function invalid(message: string): Error {
  return badRequest(`invalid continue token: ${message}`)
}
