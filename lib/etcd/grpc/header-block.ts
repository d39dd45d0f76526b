/** Header blocks of HTTP/2 (HPACK, RFC 7541) as far as a call needs them: a request is written in
 *  literals, and of an answer it is read whether all is well. Whoever asks why it is not well asks
 *  again with a client that reads everything. */

/** The headers of a request, in their order. */
export function headerBlock(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(
    headers.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]),
  )
}

/** The facts of a header block that a call needs. */
export interface AnswerHead {
  /** It has `:status` 200. */
  readonly isOk: boolean
  /** The value of `grpc-status`: it is there and 0, it is there, or it is not. */
  readonly status: 'ok' | 'failed' | undefined
}

const statusIndex = 8
/** A string is shortened where that helps: then the bits that are not used are ones. */
const grpcStatus = [Buffer.from('grpc-status'), Buffer.from('9acac8b21234da8f', 'hex')] as const
const zero = [Buffer.from('0'), Buffer.of(0x07)] as const
/** Fields of RFC 7541, appendix A. */
const staticFields = 61

/** Undefined for a block that breaks the rules, or that uses a table that we do not have. */
export function readAnswerHead(block: Buffer): AnswerHead | undefined {
  const reader = new BlockReader(block)
  let isOk = false
  let status: AnswerHead['status'] = undefined
  while (reader.hasMore) {
    const first = block[reader.at]!
    if (first >= 0x80) {
      const index = reader.integer(7)
      if (index === undefined || index === 0 || index > staticFields) return undefined
      isOk ||= index === statusIndex
    } else if (first >= 0x20 && first < 0x40) {
      // The size of the table is said again, which is 0.
      if (reader.integer(5) !== 0) return undefined
    } else {
      const index = reader.integer(first >= 0x40 ? 6 : 4)
      if (index === undefined || index > staticFields) return undefined
      const isStatus = index === 0 ? reader.text(grpcStatus) : false
      const isZero = isStatus === undefined ? undefined : reader.text(zero)
      if (isStatus === undefined || isZero === undefined) return undefined
      if (isStatus) status = isZero && status === undefined ? 'ok' : 'failed'
    }
  }
  return { isOk, status }
}

/** An integer of more bytes is longer than any block. */
const integerMaxBytes = 4

class BlockReader {
  at = 0
  readonly #block: Buffer

  constructor(block: Buffer) {
    this.#block = block
  }

  get hasMore(): boolean {
    return this.at < this.#block.length
  }

  /** An integer that begins in the low bits of a byte; undefined if it does not end. */
  integer(bits: number): number | undefined {
    const full = (1 << bits) - 1
    let value = (this.#block[this.at++] ?? 0) & full
    if (value < full) return value
    for (let i = 0; i < integerMaxBytes; i++) {
      const byte = this.#block[this.at++]
      if (byte === undefined) return undefined
      value += (byte & 0x7f) << (7 * i)
      if (byte < 0x80) return value
    }
    return undefined
  }

  /** Reads a string: is it this one, as it is or shortened? Undefined if it is cut off. */
  text([plain, shortened]: readonly [Buffer, Buffer]): boolean | undefined {
    if (!this.hasMore) return undefined
    const isShortened = this.#block[this.at]! >= 0x80
    const length = this.integer(7)
    if (length === undefined || this.at + length > this.#block.length) return undefined
    const from = this.at
    this.at += length
    const wanted = isShortened ? shortened : plain
    return length === wanted.length && wanted.compare(this.#block, from, this.at) === 0
  }
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  return Buffer.concat([integer(bytes.length, 7), bytes])
}

/** An integer whose first byte has no other bits. */
function integer(value: number, bits: number): Buffer {
  const full = (1 << bits) - 1
  if (value < full) return Buffer.of(value)
  const bytes = [full]
  let rest = value - full
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}
