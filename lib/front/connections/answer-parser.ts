/** Parses HTTP/1.1 responses on a connection, strictly: an ambiguous response is refused, because another parser might see another
 *  response, or two instead of one (RFC 9112, 6.3 and 7.1).
 *
 *  ```
 *   idle ──expect──▶ head ──▶ counted ─────────────────────────┐
 *                    │ ▲ 1xx  untilClosed ──(connection ends)──┤
 *                    │        size ──▶ chunk ──▶ chunkEnd      ├──▶ idle
 *                    │        ▲ │                   │          │
 *                    │        └─┼───────────────────┘          │
 *                    │          └──▶ trailers ─────────────────┤
 *                    ├──(no body)──────────────────────────────┘
 *                    └──(101, asked for)──▶ switched
 *  ``` */

import type { IncomingHttpHeaders } from 'node:http'

/** Receives a response. Calls come in this order: `started`, `data` any number of times, `ended`. */
export interface AnswerSink {
  /** Not called for 1xx. */
  started(code: number, headers: IncomingHttpHeaders): void
  data(piece: Uint8Array): void
  ended(trailers: IncomingHttpHeaders): void
  /** Called instead of all others after an upgrade: the head of a 101, and the bytes that have come after it. */
  switched?(head: string, rest: Uint8Array): void
}

/** A response that is malformed or ambiguous. */
export class MalformedAnswer extends Error {
  readonly code = 'EPROTO'
}

type State =
  | 'idle'
  | 'head'
  | 'counted'
  | 'untilClosed'
  | 'size'
  | 'chunk'
  | 'chunkEnd'
  | 'trailers'
  | 'switched'

/** The limit that our own server sets for its clients. */
const headMaxBytes = 64 * 1024
/** The line with the size of a chunk and its extensions, which no server sends. */
const sizeMaxBytes = 1024
/** Most chunk size lines are shorter. */
const sizeLookBytes = 32
/** 1xx responses before the final one. Servers send one or two. */
const informationalMax = 16

const noTrailers: IncomingHttpHeaders = Object.freeze({})

export class AnswerParser {
  readonly #sink: AnswerSink
  #state: State = 'idle'
  /** The part that has come of a chunk size, or of the end of a chunk. */
  #text = ''
  /** The parts that have come of a head or of trailers. Joined once, at the end: a text that grows by a byte would be copied
   *  with each search, which takes Node 24 seconds for a head that comes byte by byte. */
  #pieces: string[] = []
  #piecesBytes = 0
  /** The last three characters of them: the end of the head may lie across two. */
  #tail = ''
  /** The remaining bytes of a body with a length, or of a chunk. */
  #left = 0
  #isToHead = false
  #mayUpgrade = false
  #informational = 0
  #isPersistent = true
  #keepAlive: string | undefined = undefined
  #switchHead = ''

  constructor(sink: AnswerSink) {
    this.#sink = sink
  }

  /** A request with this method was sent: its response comes next. */
  expect(method: string): void {
    this.#isToHead = method === 'HEAD'
    this.#informational = 0
    this.#state = 'head'
  }

  /** A request for an upgrade was sent: its response is the only one on its connection. */
  expectUpgrade(): void {
    this.expect('GET')
    this.#mayUpgrade = true
  }

  get isIdle(): boolean {
    return this.#state === 'idle'
  }

  /** True if the connection can be used for another request. */
  get isPersistent(): boolean {
    return this.#isPersistent
  }

  /** The `Keep-Alive` header of the last response. */
  get keepAlive(): string | undefined {
    return this.#keepAlive
  }

  /** Parses bytes of the connection. Throws `MalformedAnswer`; the parser must not be used after that. */
  take(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      switch (this.#state) {
        case 'idle':
        case 'switched':
          throw new MalformedAnswer('unexpected response: no request was sent')
        case 'counted':
        case 'chunk':
          at = this.#takeCounted(bytes, at)
          break
        case 'untilClosed':
          this.#sink.data(at === 0 ? bytes : bytes.subarray(at))
          at = bytes.length
          break
        case 'head':
        case 'trailers':
          at = this.#takeLines(bytes, at)
          break
        case 'size':
          at = this.#takeSize(bytes, at)
          break
        case 'chunkEnd':
          at = this.#takeChunkEnd(bytes, at)
          break
      }
    }
  }

  /** The connection was closed in an orderly way. True if this completes the response. */
  close(): boolean {
    if (this.#state !== 'untilClosed') return false
    this.#end(noTrailers)
    return true
  }

  #takeCounted(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    this.#sink.data(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    if (this.#left > 0) return end
    if (this.#state === 'chunk') this.#state = 'chunkEnd'
    else this.#end(noTrailers)
    return end
  }

  /** Parses a head, or trailers, which may be empty. */
  #takeLines(bytes: Buffer, at: number): number {
    const next = this.#takeLinesTo(bytes, at)
    if (this.#state !== 'switched') return next
    this.#sink.switched?.(this.#switchHead, bytes.subarray(next))
    return bytes.length
  }

  #takeLinesTo(bytes: Buffer, at: number): number {
    const known = this.#piecesBytes
    const isEmpty = this.#state === 'trailers' && known === 0 && bytes[at] === 0x0d
    const end = known === 0 && !isEmpty ? bytes.indexOf('\r\n\r\n', at, 'latin1') : -1
    if (end >= 0) return this.#takeWhole(bytes.toString('latin1', at, end), end + 4)
    const piece = bytes.toString('latin1', at)
    const tail = this.#tail
    if (this.#state === 'trailers' && known < 2 && (tail + piece).startsWith('\r\n')) {
      return this.#takeWhole('', at + 2 - known)
    }
    const last = tail + piece
    const found = last.indexOf('\r\n\r\n')
    if (found >= 0) {
      const text = [...this.#pieces, piece].join('').slice(0, known - tail.length + found)
      return this.#takeWhole(text, at + found + 4 - tail.length)
    }
    if (known + piece.length > headMaxBytes) {
      throw new MalformedAnswer(`headers are above ${headMaxBytes} bytes`)
    }
    this.#pieces.push(piece)
    this.#piecesBytes = known + piece.length
    this.#tail = last.slice(-3)
    return bytes.length
  }

  #takeWhole(text: string, next: number): number {
    this.#pieces = []
    this.#piecesBytes = 0
    this.#tail = ''
    if (text.length > headMaxBytes) {
      throw new MalformedAnswer(`headers are above ${headMaxBytes} bytes`)
    }
    if (this.#state === 'head') this.#takeHead(text)
    else this.#end(text === '' ? noTrailers : headersOf(text.split('\r\n'), 0))
    return next
  }

  #takeHead(text: string): void {
    const lines = text.split('\r\n')
    const status = statusLine.exec(lines[0] ?? '')
    if (status === null) throw new MalformedAnswer('invalid status line')
    const code = Number(status[2])
    const headers = headersOf(lines, 1)
    if (code === 101 && this.#mayUpgrade && status[1] === '1') {
      this.#switchHead = text
      this.#state = 'switched'
      return
    }
    if (code < 200) {
      this.#informational++
      // An ordinary request never asks for an upgrade.
      if (code === 101 || this.#informational > informationalMax) {
        throw new MalformedAnswer(`unexpected status ${code}`)
      }
      return
    }
    this.#beginBody(code, headers, status[1] === '0')
    const hasEnded = this.#state === 'idle'
    this.#sink.started(code, headers)
    if (hasEnded) this.#sink.ended(noTrailers)
  }

  /** RFC 9112, 6.3. */
  #beginBody(code: number, headers: IncomingHttpHeaders, isOld: boolean): void {
    const { connection, 'transfer-encoding': coding, 'content-length': length } = headers
    this.#keepAlive = headers['keep-alive'] as string | undefined
    this.#isPersistent = !isOld && (connection === undefined || !closes(connection))
    this.#state = 'idle'
    if (coding !== undefined) {
      const isPlain = typeof coding === 'string' && coding.toLowerCase() === 'chunked'
      if (!isPlain || isOld || length !== undefined) {
        throw new MalformedAnswer(
          'ambiguous length of the response: Transfer-Encoding is not "chunked" alone, or there is also a Content-Length',
        )
      }
    }
    const bytes = length === undefined ? undefined : lengthOf(length)
    if (this.#isToHead || code === 204 || code === 304) return
    if (coding !== undefined) this.#state = 'size'
    else if (bytes === undefined) {
      this.#state = 'untilClosed'
      this.#isPersistent = false
    } else if (bytes > 0) {
      this.#state = 'counted'
      this.#left = bytes
    }
  }

  #takeSize(bytes: Buffer, at: number): number {
    const known = this.#text.length
    const next = Math.min(bytes.length, at + sizeLookBytes)
    const text = this.#text + bytes.toString('latin1', at, next)
    const end = text.indexOf('\r\n')
    if (end < 0) {
      if (text.length > sizeMaxBytes) throw new MalformedAnswer('chunk size line is too long')
      this.#text = text
      return next
    }
    this.#text = ''
    const size = chunkSize.exec(text.slice(0, end))?.[1]
    if (size === undefined) {
      throw new MalformedAnswer(`invalid chunk size ${JSON.stringify(text.slice(0, end))}`)
    }
    this.#left = Number.parseInt(size, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    return at + end + 2 - known
  }

  #takeChunkEnd(bytes: Buffer, at: number): number {
    const text = this.#text + bytes.toString('latin1', at, at + 2 - this.#text.length)
    if (!'\r\n'.startsWith(text)) throw new MalformedAnswer('chunk data is longer than its size')
    const taken = text.length - this.#text.length
    this.#text = text === '\r\n' ? '' : text
    if (text === '\r\n') this.#state = 'size'
    return at + taken
  }

  #end(trailers: IncomingHttpHeaders): void {
    this.#state = 'idle'
    this.#sink.ended(trailers)
  }
}

/** Codes end at 599 (RFC 9110, 15), and over HTTP/2 no others can be passed on. */
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const chunkSize = /^([0-9a-fA-F]{1,12})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/
const notOfAValue = /[^\t\x20-\x7e\x80-\xff]/
const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** A cache of valid header names in lower case, by their spelling: servers use a dozen of them. */
const knownNames = new Map<string, string>()
const knownNamesMax = 1_000

function plainName(name: string): string {
  const known = knownNames.get(name)
  if (known !== undefined) return known
  if (!headerName.test(name)) {
    throw new MalformedAnswer(`invalid header name ${JSON.stringify(name)}`)
  }
  const plain = name.toLowerCase()
  if (knownNames.size < knownNamesMax) knownNames.set(name, plain)
  return plain
}

/** The headers in the lines from `start` on: names in lower case, and several values if a name has several lines. */
function headersOf(lines: readonly string[], start: number): IncomingHttpHeaders {
  // Without a prototype: `constructor` is a header name like any other.
  const headers = Object.create(null) as Record<string, string | string[] | undefined>
  for (let i = start; i < lines.length; i++) {
    const line = lines[i] ?? ''
    const colon = line.indexOf(':')
    // A folded line begins with a space, so its name is invalid.
    if (colon < 0 || notOfAValue.test(line)) throw new MalformedAnswer('invalid header line')
    const name = plainName(line.slice(0, colon))
    const value = trimmed(line, colon + 1)
    const before = headers[name]
    if (typeof before === 'string') headers[name] = [before, value]
    else if (Array.isArray(before)) before.push(value)
    else headers[name] = value
  }
  return headers
}

/** Without spaces and tabs around it. */
function trimmed(line: string, start: number): string {
  let end = line.length
  while (start < end && isBlank(line.charCodeAt(start))) start++
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--
  return line.slice(start, end)
}

function isBlank(char: number): boolean {
  return char === 0x20 || char === 0x09
}

function lengthOf(value: string | readonly string[]): number {
  const bytes = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined
  if (bytes === undefined) {
    throw new MalformedAnswer(`invalid Content-Length ${JSON.stringify(value)}`)
  }
  return bytes
}

function closes(connection: string | readonly string[]): boolean {
  if (connection === 'keep-alive') return false
  const tokens = [connection].flat().join(',').toLowerCase().split(',')
  return tokens.some(token => token.trim() === 'close')
}
