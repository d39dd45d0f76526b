/** Reads what a header block says of a request (RFC 9113, 8.2 and 8.3). */

import type { IncomingHttpHeaders } from 'node:http'
import { singleHeaders } from '../single-headers.ts'
import { ofConnection } from '@watchglass/etcd'

export interface RequestHead {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  /** Undefined: it says nothing. */
  readonly bodyBytes: number | undefined
}

const token = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
const value = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/
const digits = /^\d{1,15}$/

/** Reads the requests of a connection. Most of them differ in their target only, so they get the
 *  same objects. */
export class HeadReader {
  #pairs: readonly string[] = []
  #last: RequestHead | undefined = undefined
  /** Index of the target in the pairs. */
  #targetAt = -1

  /** Undefined for a malformed request. */
  read(pairs: readonly string[]): RequestHead | undefined {
    const target = this.#targetAt < 0 ? undefined : pairs[this.#targetAt]
    const last = this.#last
    if (last !== undefined && target !== undefined && this.#isAlike(pairs)) {
      return target !== '' && value.test(target) ? { ...last, target } : undefined
    }
    const head = readRequestHead(pairs)
    this.#last = undefined
    if (head === undefined || bytesOf(pairs) > rememberedMaxBytes) return head
    const at = pairs.indexOf(':path')
    if (at < 0 || at % 2 !== 0) return head
    this.#last = head
    this.#pairs = pairs
    this.#targetAt = at + 1
    Object.freeze(head.headers)
    Object.freeze(head.rawHeaders)
    return head
  }

  #isAlike(pairs: readonly string[]): boolean {
    const last = this.#pairs
    if (pairs.length !== last.length) return false
    for (let i = 0; i < pairs.length; i++) {
      if (i !== this.#targetAt && pairs[i] !== last[i]) return false
    }
    return true
  }
}

/** Longer requests are not remembered: a client may open many connections. */
const rememberedMaxBytes = 4 * 1024

function bytesOf(pairs: readonly string[]): number {
  let bytes = 0
  for (const text of pairs) bytes += text.length
  return bytes
}

function readRequestHead(pairs: readonly string[]): RequestHead | undefined {
  const pseudo: Record<string, string | undefined> = Object.create(null) as {}
  const headers: IncomingHttpHeaders = Object.create(null) as {}
  let from = 0
  for (; from < pairs.length && pairs[from]!.charCodeAt(0) === colon; from += 2) {
    const name = pairs[from]!
    if (!pseudoNames.has(name) || pseudo[name] !== undefined) return undefined
    if (!value.test(pairs[from + 1]!)) return undefined
    pseudo[name] = pairs[from + 1]!
  }
  const rawHeaders = pairs.slice(from)
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!addField(headers, rawHeaders[i]!, rawHeaders[i + 1]!)) return undefined
  }
  const { ':method': method, ':scheme': scheme, ':path': target } = pseudo
  if (method === undefined || method === '') return undefined
  // `CONNECT` has neither; it is refused by whoever looks at the method.
  if (method === 'CONNECT' ? target !== undefined : !target || !scheme) return undefined
  const authority = pseudo[':authority']
  if (headers.host === undefined && authority !== undefined) headers.host = authority
  const length = headers['content-length']
  const bodyBytes = length === undefined ? undefined : Number(length)
  return { method, target: target ?? '', headers, rawHeaders, bodyBytes }
}

/** The head of a request whose headers are too long, for its answer: nothing of it is to be
 *  believed but the method, which says whether the answer has a body. */
export function unreadHead(pairs: readonly string[]): RequestHead {
  const at = pairs.indexOf(':method')
  const method = at < 0 ? 'GET' : pairs[at + 1]!
  return { method, target: '/', headers: {}, rawHeaders: [], bodyBytes: undefined }
}

/** The trailers of a request; undefined if they are malformed. */
export function readTrailers(pairs: readonly string[]): readonly string[] | undefined {
  const headers: IncomingHttpHeaders = Object.create(null) as {}
  for (let i = 0; i < pairs.length; i += 2) {
    if (!addField(headers, pairs[i]!, pairs[i + 1]!)) return undefined
  }
  return pairs
}

const colon = 0x3a
const pseudoNames: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path'])

/** False for a field that no request may have. */
function addField(headers: IncomingHttpHeaders, name: string, text: string): boolean {
  if (!token.test(name) || !value.test(text) || ofConnection.has(name)) return false
  const before = headers[name]
  if (before === undefined) {
    if (name === 'te' && text.toLowerCase() !== 'trailers') return false
    if (name === 'content-length' && !digits.test(text)) return false
    headers[name] = name === 'set-cookie' ? [text] : text
    return true
  }
  // A server behind us could take another one of them.
  if (name === 'host' || name === 'content-length') return false
  if (Array.isArray(before)) before.push(text)
  else if (name === 'cookie') headers[name] = `${before}; ${text}`
  else if (!singleHeaders.has(name)) headers[name] = `${before}, ${text}`
  return true
}
