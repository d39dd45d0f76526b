/** The bytes that are written to an HTTP/2 connection: as many as its client and its socket take.
 *  Streams that have more take turns. */

import type { Socket } from 'node:net'
import type { Corks } from '../bare/corks.ts'
import {
  controlMaxBytes,
  emptyTable,
  usualPayloadMaxBytes,
  usualWindowBytes,
} from '@watchglass/etcd'

/** The socket holds no more of bodies: the rest is not framed yet, so that others get between. */
const heldMaxBytes = 256 * 1024
/** A stream sends so much until it is the next one's turn. */
const quantum = 64 * 1024

/** A stream as its turn sees it. */
export interface Sender {
  /** Sends up to so many bytes. True if it has more that the client's window for it would take. */
  sendSome(maxBytes: number): boolean
}

export class Output {
  readonly socket: Socket
  readonly #corks: Corks
  readonly #onFlood: () => void
  /** Streams with bytes that the client's windows for them would take, in the order of turns. */
  readonly #streams = new Set<Sender>()
  /** Bytes that the client takes on all streams together. */
  window: number = usualWindowBytes
  /** The longest frame that the client takes. */
  payloadMax: number = usualPayloadMaxBytes
  /** Bytes that were written. */
  sentBytes = 0
  /** Bytes of bodies among them: a large one is sent as the client's windows open. */
  bodyBytes = 0
  #isCorked = false
  #saysTable = false
  #isPumping = false

  /** `onFlood` is called when the client takes nothing of the answers that it asks for. */
  constructor(socket: Socket, corks: Corks, onFlood: () => void) {
    this.socket = socket
    this.#corks = corks
    this.#onFlood = onFlood
  }

  /** Bytes of bodies that the socket has room for. */
  get room(): number {
    return heldMaxBytes - this.socket.writableLength
  }

  /** Streams wait for their turn. */
  get isBusy(): boolean {
    return this.#streams.size > 0
  }

  /** Begins the next header block. */
  tableUpdate(): string {
    if (!this.#saysTable) return ''
    this.#saysTable = false
    return emptyTable
  }

  /** The client has changed the size of its table, and wants to hear that we know. */
  noteTable(): void {
    this.#saysTable = true
  }

  /** Frames of one character for each byte. */
  write(frames: string, sent?: (error?: Error | null) => void): void {
    this.#cork()
    this.sentBytes += frames.length
    this.socket.write(frames, 'latin1', sent)
  }

  /** Frames of one character for each byte, with a payload behind them. */
  writeData(frames: string, payload: Uint8Array, sent?: (error?: Error | null) => void): void {
    this.#cork()
    this.sentBytes += frames.length + payload.length
    this.bodyBytes += payload.length
    this.socket.write(frames, 'latin1')
    this.socket.write(payload, sent)
  }

  /** A frame that the client has asked for. */
  control(frame: string): void {
    this.write(frame)
    if (this.socket.writableLength > controlMaxBytes) this.#onFlood()
  }

  /** The stream has more to send. */
  wait(stream: Sender): void {
    this.#streams.add(stream)
  }

  leave(stream: Sender): void {
    this.#streams.delete(stream)
  }

  /** Sends what there is room for now. */
  pump(): void {
    // A stream that is drained writes more.
    if (this.#isPumping) return
    this.#isPumping = true
    try {
      for (const stream of this.#streams) {
        if (this.window <= 0 || this.room <= 0) return
        this.#streams.delete(stream)
        if (stream.sendSome(quantum)) this.#streams.add(stream)
      }
    } finally {
      this.#isPumping = false
    }
  }

  /** Lets everything leave that is held back. */
  release(): void {
    if (this.#isCorked) this.socket.uncork()
  }

  uncork(): void {
    this.#isCorked = false
    this.socket.uncork()
  }

  #cork(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.#corks.add(this)
  }
}
