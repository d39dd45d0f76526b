/** A request over HTTP/1.1 whose head was read by head.ts. It writes to the connection
 *  itself: what Node's objects of a request and a response take is a third of a small answer. */

import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { noteAccepted } from '../accepted.ts'
import type { HttpRequest, OnFault, Peer, ResponseHeaders } from '../http-request.ts'
import { guarded } from '../guarded.ts'
import { peerOf } from '../peer.ts'
import { writePieces } from '../write-pieces.ts'
import type { BareHead } from './head.ts'

/** The connection that it is written to. */
export interface Wire {
  readonly socket: Socket
  /** The header lines that an answer has if it has not set them: when it was made, and whether the
   *  connection goes on after it. */
  commonFields(headers: ResponseHeaders): string
  /** Holds back what is written until the end of this turn. */
  corkForTurn(): void
  /** To be called when the answer has left. */
  readonly sent: () => void
}

/** States of a response: nothing is set, its head is set, its head is written, all is written, or
 *  it is over. */
type State = 'open' | 'headed' | 'begun' | 'ended' | 'closed'

const noTrailers: readonly string[] = []
/** Answers without a body, which have no length either. */
const bodiless: ReadonlySet<number> = new Set([204, 304])
/** With any other byte in a header the client would read something else. */
const writableName = /^[\w!#$%&'*+\-.^`|~]+$/
const unwritable = /[^\t\x20-\x7e\x80-\xff]/

export class BareRequest implements HttpRequest {
  readonly version = '1.1'
  readonly method = 'GET'
  readonly hasBody = false
  readonly canHaveTrailers = true
  readonly rawTrailers: readonly string[] = noTrailers
  readonly #wire: Wire
  readonly #parsed: BareHead
  readonly #onFault: OnFault
  #state: State = 'open'
  #head = ''
  /** True for an answer without a length: it goes in chunks. */
  #isChunked = false
  #hasContent = true
  #onDrain: (() => void) | undefined = undefined
  #onClose: (() => void)[] | undefined = undefined
  target: string
  onAccept: (() => void) | undefined = undefined
  socketMs: number | undefined = undefined
  sentBytes: number | undefined = undefined

  constructor(wire: Wire, head: BareHead, onFault: OnFault) {
    this.#wire = wire
    this.#parsed = head
    this.target = head.target
    this.#onFault = onFault
  }

  get headers(): IncomingHttpHeaders {
    return this.#parsed.fields.headers
  }

  get rawHeaders(): readonly string[] {
    return this.#parsed.fields.rawHeaders
  }

  get body(): Readable {
    return Readable.from([])
  }

  get peer(): Peer {
    return peerOf(this.#wire.socket)
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  get isFlushing(): boolean {
    return this.#state === 'ended'
  }

  accept(): void {
    noteAccepted(this.#wire.socket)
    this.onAccept?.()
  }

  respond(status: number, headers: ResponseHeaders, length?: number): void {
    if (this.#state === 'closed') return
    if (this.#state !== 'open') throw new TypeError('the response has begun already')
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
    for (const name in headers) {
      const value = headers[name]!
      if (typeof value === 'string') head += fieldLine(name, value)
      else for (const one of value) head += fieldLine(name, one)
    }
    this.#hasContent = !bodiless.has(status)
    const hasLength = length !== undefined || headers['content-length'] !== undefined
    this.#isChunked = this.#hasContent && !hasLength
    head += this.#wire.commonFields(headers)
    if (length !== undefined) head += `Content-Length: ${length}\r\n`
    if (this.#isChunked) head += 'Transfer-Encoding: chunked\r\n'
    this.#head = `${head}\r\n`
    this.#state = 'headed'
  }

  proceed(): void {}

  flush(): void {
    if (this.#state === 'headed') this.#begin()
  }

  write(piece: Uint8Array): boolean {
    if (this.#state === 'closed') return true
    if (this.#state === 'ended') throw new TypeError('the response has ended already')
    const { socket } = this.#wire
    this.#wire.corkForTurn()
    this.#begin()
    if (!this.#hasContent || piece.length === 0) return !socket.writableNeedDrain
    if (!this.#isChunked) return socket.write(piece)
    socket.write(`${piece.length.toString(16)}\r\n`, 'latin1')
    socket.write(piece)
    return socket.write('\r\n', 'latin1')
  }

  onDrain(task: () => void): void {
    this.#onDrain = guarded(this, task, this.#onFault)
  }

  end(piece?: Uint8Array, trailers: ResponseHeaders = {}): void {
    this.#end(piece === undefined ? [] : [piece], trailers)
  }

  endWith(pieces: readonly Uint8Array[]): void {
    this.#end(pieces, {})
  }

  /** Cuts the response off; bytes written before still leave. */
  abort(): void {
    const { socket } = this.#wire
    socket.uncork()
    socket.destroy()
  }

  onClose(task: () => void): () => void {
    const safe = guarded(this, task, this.#onFault)
    if (this.isClosed) {
      safe()
      return () => {}
    }
    const tasks = (this.#onClose ??= [])
    tasks.push(safe)
    return () => {
      const at = tasks.indexOf(safe)
      if (at >= 0) tasks.splice(at, 1)
    }
  }

  /** The connection can take more. */
  drained(): void {
    const task = this.#onDrain
    this.#onDrain = undefined
    task?.()
  }

  /** All of the response has left, or the connection is closed. */
  closed(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    const tasks = this.#onClose
    this.#onClose = undefined
    for (const task of tasks ?? []) task()
  }

  #end(pieces: readonly Uint8Array[], trailers: ResponseHeaders): void {
    if (this.#state === 'closed' || this.#state === 'ended') return
    const { socket, sent } = this.#wire
    this.#wire.corkForTurn()
    this.#begin()
    if (this.#isChunked) for (const piece of pieces) this.write(piece)
    this.#state = 'ended'
    if (this.#isChunked) socket.write(lastChunk(trailers), 'latin1', sent)
    else if (this.#hasContent && pieces.length > 0) writePieces(socket, pieces, sent)
    else socket.write('', 'latin1', sent)
  }

  #begin(): void {
    if (this.#state === 'begun') return
    if (this.#state === 'open') this.respond(200, {})
    this.#state = 'begun'
    this.#wire.socket.write(this.#head, 'latin1')
    this.#head = ''
  }
}

function lastChunk(trailers: ResponseHeaders): string {
  let text = '0\r\n'
  for (const name in trailers) {
    for (const value of [trailers[name]!].flat()) text += fieldLine(name, value)
  }
  return `${text}\r\n`
}

/** Lines of headers that have few values: they are kept. */
const usualLines: ReadonlyMap<string, Map<string, string>> = new Map(
  ['cache-control', 'content-type', 'content-encoding', 'vary'].map(name => [name, new Map()]),
)
const usualMax = 100

function fieldLine(name: string, value: string): string {
  const usual = usualLines.get(name)
  const known = usual?.get(value)
  if (known !== undefined) return known
  const line = newLine(name, value)
  if (usual !== undefined && usual.size < usualMax) usual.set(value, line)
  return line
}

function newLine(name: string, value: string): string {
  if (!writableName.test(name) || unwritable.test(value)) {
    throw new TypeError(`the header ${name} cannot be written`)
  }
  return `${name}: ${value}\r\n`
}
