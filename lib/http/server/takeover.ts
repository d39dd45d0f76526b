/** A connection that asks for another protocol, until somebody takes it over. It is read all the while: a socket that nobody reads does not
 *  tell that its client has left, and what waits for an answer would be held for as long as the upstream likes. */

import type { Socket } from 'node:net'
import type { Takeover } from './exchange.ts'

/** Clients wait for the answer before they say more than a few bytes in the new protocol. */
const earlyMaxBytes = 64 * 1024

export class WaitingTakeover implements Takeover {
  readonly socket: Socket
  readonly #pieces: Uint8Array[]
  #bytes: number

  /** `head` has come behind the request. */
  constructor(socket: Socket, head: Uint8Array) {
    this.socket = socket
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
