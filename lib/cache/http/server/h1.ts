/** A request over HTTP/1.1. */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@watchglass/base'
import { noteAccepted } from './accepted.ts'
import type { HttpRequest, OnFault, Peer, ResponseHeaders, Takeover } from './http-request.ts'
import { guarded } from './guarded.ts'
import { passOver, restMaxBytes } from './parting.ts'
import { peerOf } from './peer.ts'
import { writePieces } from './write-pieces.ts'

/** The most requests of a connection that may be unanswered. Clients wait for an answer before they
 *  send the next request; two thousand fit into one packet, and Node makes the objects of all
 *  before any is answered. */
const unansweredMax = 100

/** True if a client has sent more requests than a connection may have unanswered: it is closed, and
 *  what it has sent is not read on. */
export function closesFlood({ socket }: IncomingMessage): boolean {
  if ((waitingBySocket.get(socket)?.size ?? 0) < unansweredMax) return false
  // Node reads a packet to its end, closed or not.
  const { parser } = socket as unknown as { readonly parser?: { onIncoming: unknown } | null }
  if (parser !== undefined && parser !== null) parser.onIncoming = () => 0
  socket.destroy()
  return true
}

/** The requests of each connection that came behind an unfinished one. One listener a connection
 *  tells them all of its end. */
const waitingBySocket = new WeakMap<Socket, Set<() => void>>()

function waitingOn(socket: Socket): Set<() => void> {
  const known = waitingBySocket.get(socket)
  if (known !== undefined) return known
  const waiting = new Set<() => void>()
  waitingBySocket.set(socket, waiting)
  socket.once('close', () => {
    for (const lost of waiting) lost()
  })
  return waiting
}

export interface Http1Services {
  readonly clock: Pick<Clock, 'setTimer'>
  readonly onFault: OnFault
}

export class Http1Request implements HttpRequest {
  readonly version = '1.1'
  readonly #response: ServerResponse
  readonly body: IncomingMessage
  readonly takeover: Takeover | undefined
  readonly #services: Http1Services
  onAccept: (() => void) | undefined = undefined
  sentBytes: number | undefined = undefined
  #isLost = false

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    services: Http1Services,
    takeover?: Takeover,
  ) {
    this.body = request
    this.takeover = takeover
    this.#response = response
    this.#services = services
    // A client that goes away in the middle of a response is not a failure of ours; `onClose` tells
    // the handler.
    response.on('error', () => {})
    request.on('error', () => {})
    if (response.socket !== null) return
    const waiting = waitingOn(request.socket)
    waiting.add(this.#lost)
    response.once('close', () => waiting.delete(this.#lost))
  }

  /** The client has left while an earlier answer on the connection was under way. Node tells only
   *  the one whose turn it was. */
  readonly #lost = (): void => {
    if (this.#response.socket !== null || this.#response.closed) return
    this.#isLost = true
    this.#response.emit('close')
  }

  get method(): string {
    return this.body.method ?? ''
  }

  get target(): string {
    return this.body.url ?? ''
  }

  set target(target: string) {
    this.body.url = target
  }

  get headers(): IncomingHttpHeaders {
    return this.body.headers
  }

  get rawHeaders(): readonly string[] {
    return this.body.rawHeaders
  }

  get rawTrailers(): readonly string[] {
    return this.body.rawTrailers
  }

  get hasBody(): boolean {
    const { headers } = this
    const length = headers['content-length']
    return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
  }

  get peer(): Peer {
    return peerOf(this.body.socket)
  }

  /** HTTP/1.0 has no chunked bodies, and so no trailers. */
  get canHaveTrailers(): boolean {
    return this.body.httpVersionMinor > 0
  }

  get isClosed(): boolean {
    return this.#isLost || this.#response.closed || this.#response.writableFinished
  }

  get isFlushing(): boolean {
    const { writableEnded, writableFinished, closed } = this.#response
    return writableEnded && !writableFinished && !closed
  }

  respond(status: number, headers: ResponseHeaders, length?: number): void {
    if (this.isClosed) return
    const all: Record<string, string | readonly string[]> = { ...headers }
    if (length !== undefined) all['content-length'] = String(length)
    if (this.#willLeaveMuch) all['connection'] = 'close'
    this.#response.writeHead(status, all as Record<string, string | string[]>)
  }

  accept(): void {
    noteAccepted(this.body.socket)
    this.onAccept?.()
  }

  proceed(): void {}

  flush(): void {
    if (!this.isClosed) this.#response.flushHeaders()
  }

  write(piece: Uint8Array): boolean {
    return this.isClosed || this.#response.write(piece)
  }

  onDrain(task: () => void): void {
    this.#response.once('drain', guarded(this, task, this.#services.onFault))
  }

  end(piece?: Uint8Array, trailers?: ResponseHeaders): void {
    if (trailers !== undefined && !this.isClosed) {
      this.#response.addTrailers(trailers as Record<string, string>)
    }
    this.#passOver()
    if (piece === undefined) this.#response.end()
    else this.#response.end(piece)
  }

  endWith(pieces: readonly Uint8Array[]): void {
    const response = this.#response
    this.#passOver()
    if (pieces.length === 1) {
      response.end(pieces[0])
      return
    }
    response.cork()
    writePieces(response, pieces)
    response.end()
  }

  /** More of the body is to come than is read after the response. */
  get #willLeaveMuch(): boolean {
    const { complete, headers } = this.body
    return !complete && Number(headers['content-length'] ?? 0) > restMaxBytes
  }

  #passOver(): void {
    const { body } = this
    if (this.hasBody && !body.readableEnded) passOver(body, this.#response, this.#services.clock)
  }

  abort(): void {
    this.#response.destroy()
  }

  onClose(task: () => void): () => void {
    const safe = guarded(this, task, this.#services.onFault)
    if (this.isClosed) safe()
    else this.#response.on('close', safe)
    return () => this.#response.off('close', safe)
  }
}
