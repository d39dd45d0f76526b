/** Collects the distinct rows of one object. A row is a number of 53 bits: a hash of which members
 *  one message has. The table is made once and cleared for each object, so that reading rows makes
 *  no garbage. */

/** An object with more distinct rows than this is not compared: no ordinary one has a tenth of
 *  them. */
const rowsMax = 1024
const places = 4096

export class RowTable {
  readonly #keys = new Float64Array(places)
  readonly #stamps = new Uint32Array(places)
  readonly #rows = new Float64Array(rowsMax)
  #stamp = 0
  #count = 0
  /** Equal for equal sets of rows, in whatever order they came. */
  #sumLow = 0
  #sumHigh = 0
  isFull = false

  clear(): void {
    this.#stamp++
    if (this.#stamp > 0xffff_ffff) {
      this.#stamps.fill(0)
      this.#stamp = 1
    }
    this.#count = 0
    this.#sumLow = 0
    this.#sumHigh = 0
    this.isFull = false
  }

  get count(): number {
    return this.#count
  }

  /** Adds the row that two halves of a hash make. */
  add(low: number, high: number): void {
    const row = wholeOf(low, high)
    let place = (low ^ (low >>> 15)) & (places - 1)
    while (this.#stamps[place] === this.#stamp) {
      if (this.#keys[place] === row) return
      place = (place + 1) & (places - 1)
    }
    if (this.#count === rowsMax) {
      this.isFull = true
      return
    }
    this.#stamps[place] = this.#stamp
    this.#keys[place] = row
    this.#rows[this.#count++] = row
    this.#sumLow = (this.#sumLow + low) | 0
    this.#sumHigh = (this.#sumHigh + Math.imul(high, 0x9e37_79b1)) | 0
  }

  /** A hash of the whole set. */
  get sum(): number {
    return wholeOf(mixed(this.#sumLow, this.#count), mixed(this.#sumHigh, this.#sumLow))
  }

  /** A copy of the rows. */
  take(): Float64Array {
    return this.#rows.slice(0, this.#count)
  }
}

/** 53 bits of 64. */
export function wholeOf(low: number, high: number): number {
  return (high & 0x1f_ffff) * 0x1_0000_0000 + (low >>> 0)
}

/** The next state of a hash of 32 bits. */
export function mixed(hash: number, value: number): number {
  let next = Math.imul(hash ^ value, 0x85eb_ca6b)
  next = Math.imul(next ^ (next >>> 13), 0xc2b2_ae35)
  return next ^ (next >>> 16)
}
