/** Finds the stamps in a stream of frames. It allocates nothing: who counts must not stop to collect garbage. */

import { stampDigits, stampMark } from './orders.ts'

const mark = Buffer.from(stampMark)
const stampBytes = mark.length + stampDigits
/** From one stamp to the next it is never less: pods are larger. */
const frameMinBytes = 3_000
const zero = 0x30

export class StampReader {
  readonly #note: (stamp: number) => void
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
      const found = this.#joint.indexOf(mark)
      if (found >= 0 && found + stampBytes <= end) {
        this.#note(stampAt(this.#joint, found + mark.length))
        at = from + found - this.#kept + frameMinBytes
      } else if (to - from < stampBytes - 1) {
        this.#kept = this.#joint.copy(this.#joint, 0, Math.max(0, end - stampBytes + 1), end)
        return
      }
      this.#kept = 0
    }
    while (at < to) {
      const found = bytes.indexOf(mark, at)
      if (found < 0 || found + stampBytes > to) break
      this.#note(stampAt(bytes, found + mark.length))
      at = found + frameMinBytes
    }
    this.#skip = Math.max(0, at - to)
    if (at < to) this.#kept = bytes.copy(this.#joint, 0, Math.max(at, to - stampBytes + 1), to)
  }

  /** Puts as much behind what was kept as a stamp may need. Where it ends. */
  #join(bytes: Buffer, from: number, to: number): number {
    const end =
      this.#kept + bytes.copy(this.#joint, this.#kept, from, Math.min(to, from + stampBytes - 1))
    this.#joint.fill(0, end)
    return end
  }
}

function stampAt(bytes: Buffer, at: number): number {
  let stamp = 0
  for (let i = at; i < at + stampDigits; i++) stamp = stamp * 10 + bytes[i]! - zero
  return stamp
}
