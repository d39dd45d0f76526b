/** Reads header blocks (HPACK, RFC 7541). A connection has one decoder: a block may name fields of
 *  earlier ones. */

import { huffmanText } from './huffman.ts'
import { type HeaderField, staticFields } from './static-fields.ts'

/** The size that a client may use if it is told nothing. */
const tableMaxBytes = 4_096
/** Bytes that a field takes beside its texts, by the RFC. */
export const fieldBytes = 32

/** A longer integer is beyond anything that we take. */
const integerMaxShift = 21

export interface HeaderList {
  /** Names and values alternating. */
  readonly pairs: string[]
  /** The fields after these were left out. */
  readonly isTooLong: boolean
}

export class HeaderDecoder {
  readonly #listMaxBytes: number
  /** The last one is the newest, which has the first index. */
  readonly #table: HeaderField[] = []
  #tableBytes = 0
  #tableMax = tableMaxBytes
  #block: Buffer = Buffer.alloc(0)
  #at = 0
  #to = 0

  /** Longer lists are not kept whole. */
  constructor(listMaxBytes: number) {
    this.#listMaxBytes = listMaxBytes
  }

  /** The fields of a block; undefined if it breaks the rules, after which no other block can be
   *  read. */
  decode(block: Buffer, from: number, to: number): HeaderList | undefined {
    this.#block = block
    this.#at = from
    this.#to = to
    const pairs: string[] = []
    let bytes = 0
    let isFirst = true
    while (this.#at < this.#to) {
      const first = block[this.#at]!
      if (first >= 0x20 && first < 0x40) {
        if (!isFirst || !this.#resize()) return undefined
        continue
      }
      const field = first >= 0x80 ? this.#indexed() : this.#literal(first)
      if (field === undefined) return undefined
      bytes += sizeOf(field)
      isFirst = false
      if (bytes <= this.#listMaxBytes) pairs.push(field[0], field[1])
    }
    return { pairs, isTooLong: bytes > this.#listMaxBytes }
  }

  #indexed(): HeaderField | undefined {
    return this.#field(this.#integer(7))
  }

  #literal(first: number): HeaderField | undefined {
    const isKept = first >= 0x40
    const index = this.#integer(isKept ? 6 : 4)
    const name = index === 0 ? this.#text() : this.#field(index)?.[0]
    if (name === undefined) return undefined
    const value = this.#text()
    if (value === undefined) return undefined
    const field: HeaderField = [name, value]
    if (isKept) this.#keep(field)
    return field
  }

  #field(index: number | undefined): HeaderField | undefined {
    if (index === undefined || index === 0) return undefined
    if (index <= staticFields.length) return staticFields[index - 1]
    return this.#table[this.#table.length - (index - staticFields.length)]
  }

  #keep(field: HeaderField): void {
    this.#table.push(field)
    this.#tableBytes += sizeOf(field)
    this.#evict()
  }

  #evict(): void {
    let gone = 0
    while (this.#tableBytes > this.#tableMax) this.#tableBytes -= sizeOf(this.#table[gone++]!)
    if (gone === 1) this.#table.shift()
    else if (gone > 1) this.#table.splice(0, gone)
  }

  /** False if the client wants more than it may have. */
  #resize(): boolean {
    const size = this.#integer(5)
    if (size === undefined || size > tableMaxBytes) return false
    this.#tableMax = size
    this.#evict()
    return true
  }

  /** An integer that begins in the low bits of a byte; undefined if it is too long. */
  #integer(bits: number): number | undefined {
    const full = (1 << bits) - 1
    let value = this.#block[this.#at++]! & full
    if (value < full) return value
    for (let shift = 0; shift <= integerMaxShift && this.#at < this.#to; shift += 7) {
      const byte = this.#block[this.#at++]!
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    return undefined
  }

  #text(): string | undefined {
    if (this.#at >= this.#to) return undefined
    const isShortened = this.#block[this.#at]! >= 0x80
    const length = this.#integer(7)
    if (length === undefined || this.#at + length > this.#to) return undefined
    const from = this.#at
    this.#at += length
    return isShortened
      ? huffmanText(this.#block, from, this.#at)
      : this.#block.toString('latin1', from, this.#at)
  }
}

function sizeOf([name, value]: HeaderField): number {
  return name.length + value.length + fieldBytes
}
