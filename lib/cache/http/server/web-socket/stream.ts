/** The server's side of a WebSocket on which a watch is answered. The pieces that are written are
 *  whole messages; what the client sends is passed over, but for pings and its end
 *  (client-frames.ts). */

import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '@watchglass/base'
import type { HttpRequest, ResponseStream } from '../http-request.ts'
import { guarded } from '../guarded.ts'
import { partWith } from '../parting.ts'
import { slowReaderTimeoutMs } from '../respond.ts'
import { ClientFrames } from './client-frames.ts'
import { closeCodes, closeMessage, message, opcodes } from './messages.ts'

type Timers = Pick<Clock, 'setTimer'>

export class WebSocketStream implements ResponseStream {
  readonly version = '1.1'
  stalled: (() => void) | undefined = undefined
  socketMs: number | undefined = undefined
  readonly #request: HttpRequest
  readonly #socket: Duplex
  readonly #clock: Timers
  readonly #frames = new ClientFrames()
  readonly #guarded: (task: () => void) => () => void
  #onDrain: (() => void) | undefined = undefined
  /** The answer to a ping that waits for its client to read. */
  #pong: Buffer | undefined = undefined
  #isEnded = false

  /** Takes the connection over, and begins it with `head`. */
  constructor(request: HttpRequest, head: string, clock: Timers) {
    const { takeover } = request
    if (takeover === undefined) throw new TypeError('there is no connection to take over')
    const { socket } = takeover
    this.#request = request
    this.#socket = socket
    this.#clock = clock
    this.#guarded = task => guarded(request, task, takeover.onFault)
    const early = takeover.take()
    socket.write(head, 'latin1')
    socket.on('data', this.#take)
    socket.on('end', this.#clientEnded)
    socket.on('drain', this.#drained)
    if (early.length > 0) this.#take(early)
    socket.resume()
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers
  }

  write(piece: Uint8Array): boolean {
    return this.#isEnded || this.#socket.write(piece)
  }

  onDrain(task: () => void): void {
    this.#onDrain = this.#guarded(task)
  }

  /** Closes the WebSocket. kube-apiserver knows one code, whatever the reason. */
  end(piece?: Uint8Array): void {
    if (piece !== undefined) this.write(piece)
    this.#close(closeCodes.normal)
  }

  abort(): void {
    this.#socket.destroy()
  }

  onClose(task: () => void): () => void {
    return this.#request.onClose(task)
  }

  /** A client that does not read this is cut off. */
  #close(code: number): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const socket = this.#socket
    const cancel = this.#clock.setTimer(slowReaderTimeoutMs, () => socket.destroy())
    socket.once('close', cancel)
    socket.once('finish', () => {
      cancel()
      partWith(socket, this.#clock)
    })
    socket.end(closeMessage(code))
  }

  readonly #take = (bytes: Uint8Array): void => {
    if (this.#isEnded) return
    const state = this.#frames.take(bytes)
    const payload = this.#frames.takePing()
    if (payload !== undefined) this.#answer(message(opcodes.pong, payload))
    if (state === 'open') return
    this.#close(state === 'broken' ? closeCodes.protocol : closeCodes.normal)
  }

  #answer(pong: Buffer): void {
    if (this.#socket.writableNeedDrain) this.#pong = pong
    else this.#socket.write(pong)
  }

  readonly #clientEnded = (): void => this.#close(closeCodes.normal)

  readonly #drained = (): void => {
    const pong = this.#pong
    this.#pong = undefined
    if (pong !== undefined && !this.#isEnded) this.#socket.write(pong)
    const task = this.#onDrain
    this.#onDrain = undefined
    task?.()
  }
}
