/** Reads a bare request: a GET without a body whose lines are all of the usual form, whole at the
 *  beginning of what has come. Most small reads are. Whatever is not plainly one is left to Node's
 *  parser, so nothing here decides what a malformed request is. */

import type { IncomingHttpHeaders } from 'node:http'

export interface BareHead {
  readonly target: string
  readonly fields: BareFields
  /** Bytes of the request. What comes after them is the next one, as it has no body. */
  readonly length: number
}

/** The header lines. Those of a connection's next request are mostly the same, so it gets the same
 *  object. */
export interface BareFields {
  readonly text: string
  /** Names in lower case. */
  readonly headers: Readonly<IncomingHttpHeaders>
  /** Names and values alternating, as they were sent. */
  readonly rawHeaders: readonly string[]
  /** The client wants no further answer on this connection. */
  readonly isLast: boolean
}

const method = 'GET '
const version = ' HTTP/1.1'
const lineEnd = '\r\n'
const headEnd = '\r\n\r\n'

/** URLs that every parser reads alike. */
const target = /^\/[\w\-.~!$&'()*+,:;=@%/?]*$/
/** A name and its value. An empty value is unusual enough. */
const field = /^([\w\-.]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)[ \t]*$/
const fieldsMax = 64

/** Headers that announce a body, or want something else of the connection. */
const unusual: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'trailer',
  'te',
  'expect',
  'upgrade',
  'http2-settings',
  'proxy-connection',
  '__proto__',
])

/** The request that these bytes begin with, in Latin-1; undefined if that is anything else. `last`
 *  are the lines of the request before. */
export function readBareHead(text: string, last?: BareFields): BareHead | undefined {
  if (!text.startsWith(method)) return undefined
  const lineTo = text.indexOf(lineEnd)
  if (lineTo < 0 || !text.endsWith(version, lineTo)) return undefined
  const asked = text.slice(method.length, lineTo - version.length)
  if (!target.test(asked)) return undefined
  const from = lineTo + lineEnd.length
  const fields =
    last !== undefined && text.startsWith(last.text, from) ? last : readFields(text, from)
  return fields && { target: asked, fields, length: from + fields.text.length }
}

/** The bytes may be the beginning of a request whose rest is still to come. */
export function isUnfinished(text: string): boolean {
  return !text.includes(headEnd)
}

function readFields(all: string, from: number): BareFields | undefined {
  // The first empty line is the end.
  const to = all.indexOf(headEnd, from)
  if (to < 0) return undefined
  const text = all.slice(from, to + headEnd.length)
  const lines = all.slice(from, to).split(lineEnd)
  if (lines.length > fieldsMax) return undefined
  const headers: IncomingHttpHeaders = {}
  const rawHeaders: string[] = []
  for (const line of lines) {
    const [, name, value] = field.exec(line) ?? []
    if (name === undefined || value === undefined) return undefined
    const lower = name.toLowerCase()
    if (unusual.has(lower) || Object.hasOwn(headers, lower)) return undefined
    headers[lower] = value
    rawHeaders.push(name, value)
  }
  const { host, connection = 'keep-alive' } = headers
  if (host === undefined || !/^(?:keep-alive|close)$/i.test(connection)) return undefined
  const isLast = connection.toLowerCase() === 'close'
  return { text, headers: Object.freeze(headers), rawHeaders: Object.freeze(rawHeaders), isLast }
}
