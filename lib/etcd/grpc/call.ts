/** A gRPC call on a connection: messages there and back, and the status that ends it. */

import { usualPayloadMaxBytes, windowFrame } from '../http2/frames.ts'
import { MessageReader } from '../http2/message-reader.ts'
import { grpcStatus } from '../proto/failures.ts'

/** The number of bytes that etcd may send before we have read them, for a stream and for the
 *  connection. HTTP/2's own 64 KB stop the transfer once in a round trip: 64 MB/s at 1 ms, 6 MB/s
 *  at 10 ms. */
export const windowBytes: number = 8 * 1024 * 1024
/** Bytes that are read before etcd is told. */
export const toldBytes: number = windowBytes / 8
/** etcd's own client in Go takes no longer message either. */
const messageMaxBytes = 2 ** 31 - 1
/** A message of so many bytes is believed to come when its first bytes have. */
const atOnceBytes = 16 * 1024 * 1024

/** The end of a call. */
export interface CallStatus {
  readonly code: number
  readonly details: string
  /** The server has done nothing for it: it may be sent again. */
  readonly isUnsent?: boolean
}

export interface CallSink {
  /** A message has come. Its bytes may be those that the socket was read with. */
  message(bytes: Buffer): void
  /** The call is over, unless it was cancelled. Nothing comes after. */
  ended(status: CallStatus): void
}

/** The connection of a call. */
export interface CallOwner {
  /** Sends a message as soon as the other side has room. */
  send(call: Call, message: Buffer): void
  /** Leaves the call, and says so to the other side. */
  leave(call: Call): void
  /** Ends the call, as what came is wrong. */
  refuse(call: Call, wrong: string): void
  write(frames: string): void
}

export class Call {
  readonly stream: number
  readonly deadlineMs: number
  /** Nothing follows the first message. */
  readonly isShort: boolean
  /** Bytes that the other side takes now. */
  sendWindow: number
  /** The body that waits for room. */
  unsent: Buffer = Buffer.alloc(0)
  /** Its headers have come. */
  hasHead = false
  readonly #owner: CallOwner
  readonly #sink: CallSink
  readonly #reader = new MessageReader(messageMaxBytes, atOnceBytes)
  /** Bytes that have come and that the other side may not send anew yet. */
  #untold = 0
  #isHeld = false
  #isReading = false
  #isOver = false
  #status: CallStatus | undefined = undefined

  constructor(
    { owner, sink }: { readonly owner: CallOwner; readonly sink: CallSink },
    of: Pick<Call, 'stream' | 'deadlineMs' | 'isShort' | 'sendWindow'>,
  ) {
    this.stream = of.stream
    this.deadlineMs = of.deadlineMs
    this.isShort = of.isShort
    this.sendWindow = of.sendWindow
    this.#owner = owner
    this.#sink = sink
  }

  write(message: Buffer): void {
    if (!this.#isOver && this.#status === undefined) this.#owner.send(this, message)
  }

  /** Bytes of the body that may be sent now. */
  room(connectionWindow: number): number {
    return Math.min(this.unsent.length, connectionWindow, this.sendWindow, usualPayloadMaxBytes)
  }

  /** Delivers nothing until it is let go of again. The other side is stopped by its window. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    this.#read()
  }

  /** Ends it without a word to the sink. */
  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#status === undefined) this.#owner.leave(this)
  }

  /** Takes bytes of the body, with which so much of the window was used. */
  take(bytes: Buffer, used: number): void {
    this.#untold += used
    if (this.#untold > windowBytes) this.#owner.refuse(this, 'more than there was room for')
    this.#reader.push(bytes)
    this.#read()
    this.#reader.settle()
  }

  /** No more bytes come. What is held is delivered first. */
  end(status: CallStatus): void {
    this.#status ??= status
    this.#read()
  }

  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    let wrong: string | undefined
    while (!this.#isHeld && !this.#isOver && wrong === undefined) {
      const message = this.#reader.next()
      if (message === undefined) break
      if (typeof message === 'number') wrong = `a message of ${message} bytes`
      else if (message.isCompressed) wrong = 'a compressed message'
      else this.#sink.message(message.bytes)
    }
    this.#isReading = false
    if (this.#isHeld || this.#isOver) return
    if (wrong !== undefined && this.#status === undefined) this.#owner.refuse(this, wrong)
    else if (this.#status !== undefined) this.#tellEnd(this.#status)
    else if (this.#untold >= toldBytes) {
      this.#owner.write(windowFrame(this.stream, this.#untold))
      this.#untold = 0
    }
  }

  #tellEnd(status: CallStatus): void {
    this.#isOver = true
    const isCut = status.code === 0 && this.#reader.heldBytes > 0
    this.#sink.ended(isCut ? cutStatus : status)
  }
}

const cutStatus = { code: grpcStatus.internal, details: 'the stream has ended within a message' }
