/** Finds the stamps in a stream of frames. It allocates nothing: the measuring process must not
 *  pause for garbage collection. */

import { stampDigits, stampMark } from './orders.ts'

/** The text before a stamp, and the least distance from one stamp to the next. */
export interface StampFormat {
  readonly mark: Buffer
  readonly frameMinBytes: number
}

/** Pods in JSON are larger. */
const jsonStamps: StampFormat = { mark: Buffer.from(stampMark), frameMinBytes: 3_000 }
/** All frames of a watcher are as long as the first, or differ by less than this: looking for
 *  stamps in all of them took a fifth of the time of who watches. */
const frameMaxDifference = 128
const zero = 0x30

export class StampReader {
  readonly #note: (stamp: number) => void
  readonly #format: StampFormat
  readonly #stampBytes: number
  /** From one stamp to where the next is looked for. */
  #pass: number
  /** Number of stamps. The first two tell the length of frames. */
  #stamps = 0
  /** Place of the last one in what comes next. */
  #last = 0
  /** So much of what comes next is passed over. */
  #skip = 0
  /** The end of what came before, where a stamp may have begun, and room for the rest of it. */
  readonly #joint: Buffer
  #kept = 0

  constructor(note: (stamp: number) => void, format: StampFormat = jsonStamps) {
    this.#note = note
    this.#format = format
    this.#stampBytes = format.mark.length + stampDigits
    this.#pass = format.frameMinBytes
    this.#joint = Buffer.alloc(2 * this.#stampBytes)
  }

  /** Takes the next bytes, which lie in a buffer that is used again afterwards. */
  take(bytes: Buffer, from: number, to: number): void {
    const stampBytes = this.#stampBytes
    const { mark } = this.#format
    let at = from + this.#skip
    if (this.#kept > 0) {
      const end = this.#join(bytes, from, to)
      const found = placeOfStamp(this.#joint, { mark, from: 0, to: end })
      if (found >= 0) {
        this.#noteAt(this.#joint, found, found - this.#kept)
        at = from + found - this.#kept + this.#pass
      } else if (to - from < stampBytes - 1) {
        this.#kept = this.#joint.copy(this.#joint, 0, Math.max(0, end - stampBytes + 1), end)
        this.#last -= to - from
        return
      }
      this.#kept = 0
    }
    while (at < to) {
      const found = placeOfStamp(bytes, { mark, from: at, to })
      if (found < 0) break
      this.#noteAt(bytes, found, found - from)
      at = found + this.#pass
    }
    this.#skip = Math.max(0, at - to)
    this.#last -= to - from
    if (at < to) this.#kept = bytes.copy(this.#joint, 0, Math.max(at, to - stampBytes + 1), to)
  }

  /** Notes the stamp in `bytes` at `found`, which is `place` in the piece that is being read. */
  #noteAt(bytes: Buffer, found: number, place: number): void {
    const { mark, frameMinBytes } = this.#format
    this.#note(stampAt(bytes, found + mark.length))
    this.#stamps++
    if (this.#stamps === 2) {
      this.#pass = Math.max(frameMinBytes, place - this.#last - frameMaxDifference)
    }
    this.#last = place
  }

  /** Puts as much behind what was kept as a stamp may need. Where it ends. */
  #join(bytes: Buffer, from: number, to: number): number {
    return (
      this.#kept +
      bytes.copy(this.#joint, this.#kept, from, Math.min(to, from + this.#stampBytes - 1))
    )
  }
}

interface SoughtMark {
  readonly mark: Buffer
  readonly from: number
  readonly to: number
}

/** The place of the first whole stamp in `from..to`, or -1. */
function placeOfStamp(bytes: Buffer, { mark, from, to }: SoughtMark): number {
  const last = to - mark.length - stampDigits
  for (let at = from; at <= last; at++) if (isMark(bytes, mark, at)) return at
  return -1
}

function isMark(bytes: Buffer, mark: Buffer, at: number): boolean {
  for (let i = 0; i < mark.length; i++) if (bytes[at + i] !== mark[i]) return false
  return true
}

function stampAt(bytes: Buffer, at: number): number {
  let stamp = 0
  for (let i = at; i < at + stampDigits; i++) stamp = stamp * 10 + bytes[i]! - zero
  return stamp
}
