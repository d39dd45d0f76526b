/** Finds the stamps in a stream of frames. It allocates nothing: the measuring process must not
 *  pause for garbage collection. */

import { stampDigits, stampMark } from './orders.ts'

const mark = Buffer.from(stampMark)
const stampBytes = mark.length + stampDigits
/** From one stamp to the next it is never less: pods are larger. */
const frameMinBytes = 3_000
/** All frames of a watcher are as long as the first, or differ by less than this: looking for
 *  stamps in all of them took a fifth of the time of who watches. */
const frameMaxDifference = 128
const zero = 0x30

export class StampReader {
  readonly #note: (stamp: number) => void
  /** From one stamp to where the next is looked for. */
  #pass = frameMinBytes
  /** Number of stamps. The first two tell the length of frames. */
  #stamps = 0
  /** Place of the last one in what comes next. */
  #last = 0
  /** So much of what comes next is passed over. */
  #skip = 0
  /** The end of what came before, where a stamp may have begun, and room for the rest of it. */
  readonly #joint = Buffer.alloc(2 * stampBytes)
  #kept = 0

  constructor(note: (stamp: number) => void) {
    this.#note = note
  }

  /** Takes the next bytes, which lie in a buffer that is used again afterwards. */
  take(bytes: Buffer, from: number, to: number): void {
    let at = from + this.#skip
    if (this.#kept > 0) {
      const end = this.#join(bytes, from, to)
      const found = placeOfStamp(this.#joint, 0, end)
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
      const found = placeOfStamp(bytes, at, to)
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
      this.#kept + bytes.copy(this.#joint, this.#kept, from, Math.min(to, from + stampBytes - 1))
    )
  }
}

/** The place of the first whole stamp in `from..to`, or -1. */
function placeOfStamp(bytes: Buffer, from: number, to: number): number {
  for (let at = from; at + stampBytes <= to; at++) if (isMark(bytes, at)) return at
  return -1
}

function isMark(bytes: Buffer, at: number): boolean {
  for (let i = 0; i < mark.length; i++) if (bytes[at + i] !== mark[i]) return false
  return true
}

function stampAt(bytes: Buffer, at: number): number {
  let stamp = 0
  for (let i = at; i < at + stampDigits; i++) stamp = stamp * 10 + bytes[i]! - zero
  return stamp
}
