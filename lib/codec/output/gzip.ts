/** One gzip member out of runs of bytes that were compressed each by itself, so that a run is
 *  compressed once and then used in every list that holds it.
 *
 *  ```
 *  1f 8b 08 ... | run | run | run | 03 00 | crc32 | length
 *  ```
 *
 *  A run is whole blocks of deflate (RFC 1951) that refer to nothing before them, ends on a byte,
 *  and has no last block: what zlib makes of it with a full flush. The checksum of all follows from
 *  those of the runs: CRC-32 is linear, so that appending `n` bytes multiplies what was there by
 *  x^8n, modulo the polynomial (zlib's crc32_combine). Each run brings its power along. */

/** A compressed run. */
export interface ZippedRun {
  readonly deflated: Uint8Array
  /** Checksum of the plain bytes. */
  readonly crc: number
  /** Number of plain bytes. */
  readonly length: number
  /** Factor of a checksum when the run comes behind it: `crcShift(length)`. */
  readonly shift: number
}

/** Ten bytes: deflate, no name, no time, an unknown system. */
const memberHead: Uint8Array = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)

/** Puts a member together: `head`, what each `add` was given, `end`. */
export class GzipMember {
  readonly head: Uint8Array = memberHead
  #crc = 0
  #length = 0

  /** The bytes of the run, which come next. */
  add({ deflated, crc, length, shift }: ZippedRun): Uint8Array {
    this.#crc = appendedCrc(this.#crc, crc, shift)
    this.#length = (this.#length + length) % 2 ** 32
    return deflated
  }

  end(): Uint8Array {
    const end = Buffer.alloc(10)
    // An empty last block.
    end[0] = 0x03
    end.writeUInt32LE(this.#crc, 2)
    end.writeUInt32LE(this.#length, 6)
    return end
  }
}

/** The most that one block holds that is not compressed. */
const storedMaxBytes = 65_535

/** Bytes as blocks that are not compressed: few are not worth it. */
export function storedBlocks(bytes: Uint8Array): Uint8Array {
  const count = Math.max(1, Math.ceil(bytes.length / storedMaxBytes))
  const blocks = Buffer.allocUnsafe(5 * count + bytes.length)
  let at = 0
  for (let i = 0; i < count; i++) {
    const part = bytes.subarray(i * storedMaxBytes, (i + 1) * storedMaxBytes)
    blocks[at] = 0
    blocks.writeUInt16LE(part.length, at + 1)
    blocks.writeUInt16LE(part.length ^ 0xffff, at + 3)
    blocks.set(part, at + 5)
    at += 5 + part.length
  }
  return blocks
}

/** The checksum of bytes with the checksum `first`, and those with `second` behind them; `shift` is
 *  that of the second. */
export function appendedCrc(first: number, second: number, shift: number): number {
  return (multiply(shift, first) ^ second) >>> 0
}

/** x^8n modulo the polynomial: what appending `n` bytes multiplies a checksum by. O(log n). */
export function crcShift(bytes: number): number {
  let power = one
  let rest = bytes
  for (let k = 3; rest > 0; k++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) power = multiply(squares[k % 32] as number, power)
  }
  return power
}

/** x^0. The highest bit is the lowest power. */
const one = 0x8000_0000
const polynomial = 0xedb8_8320

/** The product of two polynomials. */
function multiply(a: number, b: number): number {
  let product = 0
  let shifted = b
  for (let bit = one; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= shifted
    shifted = (shifted & 1) === 0 ? shifted >>> 1 : (shifted >>> 1) ^ polynomial
  }
  return product >>> 0
}

/** x^(2^k); from k = 32 on they come again. */
const squares: readonly number[] = makeSquares()

function makeSquares(): number[] {
  const made = [0x4000_0000]
  while (made.length < 32) {
    const last = made[made.length - 1] as number
    made.push(multiply(last, last))
  }
  return made
}
