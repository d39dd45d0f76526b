/** A response that goes wrong on purpose: it is cut off after some bytes, or sent slowly. */

import type { IncomingHttpHeaders } from 'node:http'
import type { CancelTimer, Clock } from '@watchglass/base'
import type { ResponseHeaders, ResponseStream } from '@watchglass/cache'
import type { ChosenFaults } from './chosen-faults.ts'

/** A slow body is sent in so many pieces a second. */
const piecesPerSecond = 10
/** The longest wait. A longer one would take the client for dead: after 30 s it may write more,
 *  which then waits here. */
const waitMaxPieces = 30 * piecesPerSecond
/** The longest wait after a piece that is sent whole. */
const wholeMaxPieces = 20 * piecesPerSecond

export interface FaultyStreamOptions {
  readonly clock: Clock
  /** Pieces are sent whole, and waited after: they are messages of a WebSocket, between which the
   *  answers to pings go. */
  readonly isWhole?: boolean
}

/** The stream with these faults, if it has any. */
export function faultyStream(
  stream: ResponseStream,
  faults: ChosenFaults,
  options: FaultyStreamOptions,
): ResponseStream {
  const isShaped = faults.find('reset') !== undefined || faults.find('slow') !== undefined
  return isShaped ? new FaultyStream(stream, faults, options) : stream
}

class FaultyStream implements ResponseStream {
  readonly #inner: ResponseStream
  readonly #faults: ChosenFaults
  readonly #clock: Clock
  readonly #isWhole: boolean
  /** Number of bytes to send before the response is cut off. */
  #leftBytes: number
  #isCut = false
  #isClosed = false
  /** The size of a piece of a slow body; undefined if it is not slow. */
  readonly #pieceBytes: number | undefined
  /** Bytes that wait to be sent slowly. */
  #waiting: Uint8Array[] = []
  #end: (() => void) | undefined
  #onDrain: (() => void)[] = []
  /** Number of pieces sent since somebody began to wait. */
  #piecesWaited = 0
  #cancel: CancelTimer | undefined

  constructor(
    inner: ResponseStream,
    faults: ChosenFaults,
    { clock, isWhole = false }: FaultyStreamOptions,
  ) {
    this.#inner = inner
    this.#faults = faults
    this.#clock = clock
    this.#isWhole = isWhole
    this.#leftBytes = faults.find('reset')?.afterBytes ?? Infinity
    const rate = faults.find('slow')?.bytesPerSecond
    this.#pieceBytes = rate === undefined ? undefined : Math.max(1, rate / piecesPerSecond)
    inner.onClose(() => {
      this.#isClosed = true
      this.#stop()
    })
  }

  get version(): '1.1' | '2' {
    return this.#inner.version
  }

  get headers(): IncomingHttpHeaders {
    return this.#inner.headers
  }

  write(piece: Uint8Array): boolean {
    if (this.#pieceBytes === undefined) return this.#pass(piece)
    this.#faults.meet('slow')
    this.#waiting.push(piece)
    this.#cancel ??= this.#clock.setTimer(0, this.#sendPiece)
    return false
  }

  onDrain(task: () => void): void {
    if (this.#pieceBytes === undefined) {
      this.#inner.onDrain(task)
      return
    }
    this.#piecesWaited = 0
    this.#onDrain.push(task)
  }

  end(piece?: Uint8Array, trailers?: ResponseHeaders): void {
    if (piece !== undefined) this.write(piece)
    const end = (): void => {
      if (!this.#isCut) this.#inner.end(undefined, trailers)
    }
    if (this.#waiting.length === 0) end()
    else this.#end = end
  }

  abort(): void {
    this.#stop()
    this.#inner.abort()
  }

  onClose(task: () => void): () => void {
    return this.#inner.onClose(task)
  }

  /** Writes to the client, as far as the response goes. */
  #pass(piece: Uint8Array): boolean {
    if (this.#isClosed || this.#isCut) return true
    if (piece.length <= this.#leftBytes) {
      this.#leftBytes -= piece.length
      return this.#inner.write(piece)
    }
    this.#faults.meet('reset')
    const first = piece.subarray(0, this.#leftBytes)
    this.#isCut = true
    const isFull = first.length > 0 && !this.#inner.write(first)
    // What was written before should arrive: the client is to see a body that ends in its middle.
    if (isFull) this.#inner.onDrain(() => this.abort())
    else this.#cancel = this.#clock.setTimer(0, () => this.abort())
    return true
  }

  readonly #sendPiece = (): void => {
    this.#cancel = undefined
    const [first] = this.#waiting
    if (first === undefined) return
    const length = this.#isWhole
      ? first.length
      : Math.min(first.length, this.#pieceBytes ?? Infinity)
    if (length === first.length) this.#waiting.shift()
    else this.#waiting[0] = first.subarray(length)
    const takesMore = this.#pass(first.subarray(0, length))
    this.#piecesWaited++
    if (this.#piecesWaited > waitMaxPieces) this.#letGoOn()
    if (this.#waiting.length === 0) this.#drained()
    else if (takesMore) {
      const pieces = Math.min(wholeMaxPieces, Math.max(1, length / (this.#pieceBytes ?? Infinity)))
      this.#piecesWaited += pieces - 1
      this.#cancel ??= this.#clock.setTimer((pieces * 1000) / piecesPerSecond, this.#sendPiece)
    } else this.#inner.onDrain(this.#sendPiece)
  }

  #drained(): void {
    this.#end?.()
    this.#end = undefined
    this.#letGoOn()
  }

  #letGoOn(): void {
    const tasks = this.#onDrain
    this.#onDrain = []
    for (const task of tasks) task()
  }

  #stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#waiting = []
    this.#end = undefined
  }
}
