/** A connection that waits for its upgrade. The socket is read meanwhile: without reading, Node
 *  does not notice that the client has left, and the request would be held until the upstream
 *  answers. */

import type { Socket } from 'node:net'
import type { OnFault, Takeover } from './http-request.ts'

/** Clients send at most a few bytes of the new protocol before the answer. */
const earlyMaxBytes = 64 * 1024

export class WaitingTakeover implements Takeover {
  readonly socket: Socket
  readonly onFault: OnFault
  readonly #pieces: Uint8Array[]
  #bytes: number

  /** `head` is what has come after the request. */
  constructor(socket: Socket, head: Uint8Array, onFault: OnFault) {
    this.socket = socket
    this.onFault = onFault
    this.#pieces = [head]
    this.#bytes = head.length
    socket.on('data', this.#keep)
    socket.on('end', this.#leave)
  }

  take(): Uint8Array {
    const { socket } = this
    socket.pause()
    socket.off('data', this.#keep)
    socket.off('end', this.#leave)
    return Buffer.concat(this.#pieces)
  }

  readonly #keep = (piece: Buffer): void => {
    this.#bytes += piece.length
    if (this.#bytes > earlyMaxBytes) this.socket.destroy()
    else this.#pieces.push(piece)
  }

  readonly #leave = (): void => {
    this.socket.destroy()
  }
}
