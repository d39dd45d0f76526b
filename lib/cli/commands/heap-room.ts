/** The memory by which V8's heap may grow until it is collected whole: little in a process with
 *  little to do, whose garbage would otherwise grow for half an hour until somebody takes it for a
 *  leak, and more where collections would take much of the processor.
 *
 *  A collection marks what is alive, so its cost is known without measuring: its share of the time
 *  is that cost over the time since the last one. */

const mebibyte = 1024 ** 2
/** The room of a process at rest, and that of a busy one. */
export const roomLeastBytes: number = 32 * mebibyte
export const roomMostBytes: number = 128 * mebibyte
/** V8 marks a gigabyte in about a second. */
const markedBytesPerMs = mebibyte
/** Shares of a processor: more than the first asks for more room, less than the second gives some
 *  back. They are so far apart that twice the room, or half of it, lies between them. */
const busyShare = 0.02
const idleShare = 0.004

export class HeapRoom {
  #bytes = roomLeastBytes
  #lastMs = 0

  get bytes(): number {
    return this.#bytes
  }

  /** The whole heap was collected at this time, in milliseconds of a clock that only rises. */
  collected(atMs: number, aliveBytes: number): void {
    const sinceMs = Math.max(1, atMs - this.#lastMs)
    this.#lastMs = atMs
    const share = aliveBytes / markedBytesPerMs / sinceMs
    if (share > busyShare) this.#bytes = Math.min(roomMostBytes, 2 * this.#bytes)
    else if (share < idleShare) this.#bytes = Math.max(roomLeastBytes, this.#bytes / 2)
  }
}
