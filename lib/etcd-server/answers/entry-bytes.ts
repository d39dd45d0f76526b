/** Entries as a range response has them, written forwards into buffers of our own: how many bytes
 *  one takes is known before it is written, so that a response of any size is sent while it is
 *  made. */

import { type KeyValue, noLease } from '@watchglass/store'
import { bigVarint, varintLength, writeVarint } from '@watchglass/base'
import { keyValueLength } from '@watchglass/etcd'

const varint = 0
const delimited = 2
const entriesField = (2 << 3) | delimited

/** Values from this size on are sent from their slab; smaller ones are copied, which costs less
 *  than another piece. */
const ownPieceMinBytes = 16 * 1024

/** Pieces are at most about this large. */
const pieceBytes = 128 * 1024

/** The length of an entry with its tag and length. */
export function entryLength(entry: KeyValue, withValue: boolean): number {
  const inner = keyValueLength(entry, withValue)
  return 1 + varintLength(inner) + inner
}

/** Writes entries into pieces. */
export class EntryPieces {
  readonly #withValues: boolean
  #piece = Buffer.allocUnsafeSlow(pieceBytes)
  /** Window of the part of the piece that has not been taken. */
  #start = 0
  #at = 0
  #taken: Buffer[] = []
  #bytes = 0

  constructor(withValues: boolean) {
    this.#withValues = withValues
  }

  /** Number of bytes that wait to be taken. */
  get bytes(): number {
    return this.#bytes
  }

  add(entry: KeyValue): void {
    const inner = keyValueLength(entry, this.#withValues)
    const length = 1 + varintLength(inner) + inner
    const { valueLength } = entry
    const hasOwnPiece = this.#withValues && valueLength >= ownPieceMinBytes
    this.#reserve(hasOwnPiece ? length - valueLength : length)
    this.#bytes += length
    this.#byte(entriesField)
    this.#varint(inner)
    this.#writeHead(entry)
    if (this.#withValues && valueLength > 0) this.#writeValue(entry, hasOwnPiece)
    if (entry.lease !== noLease) {
      this.#byte((6 << 3) | varint)
      for (const byte of bigVarint(entry.lease)) this.#byte(byte)
    }
  }

  /** The pieces that have been written. They must not be changed, nor will they be. */
  take(): Buffer[] {
    this.#cut()
    this.#bytes = 0
    return this.#taken.splice(0)
  }

  #writeHead({ key, createRevision, modRevision, version }: KeyValue): void {
    this.#byte((1 << 3) | delimited)
    this.#varint(key.length)
    this.#at += this.#piece.write(key, this.#at, 'latin1')
    this.#number(2, createRevision)
    this.#number(3, modRevision)
    this.#number(4, version)
  }

  #writeValue({ bytes, start, end }: KeyValue, hasOwnPiece: boolean): void {
    this.#byte((5 << 3) | delimited)
    this.#varint(end - start)
    if (hasOwnPiece) {
      this.#cut()
      this.#taken.push(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start))
    } else {
      this.#piece.set(bytes.subarray(start, end), this.#at)
      this.#at += end - start
    }
  }

  #number(field: number, value: number): void {
    if (value === 0) return
    this.#byte((field << 3) | varint)
    this.#varint(value)
  }

  #byte(byte: number): void {
    this.#piece[this.#at++] = byte
  }

  #varint(value: number): void {
    this.#at = writeVarint(this.#piece, this.#at, value)
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#piece.length) return
    this.#cut()
    this.#piece = Buffer.allocUnsafeSlow(Math.max(pieceBytes, length))
    this.#start = 0
    this.#at = 0
  }

  #cut(): void {
    if (this.#at > this.#start) this.#taken.push(this.#piece.subarray(this.#start, this.#at))
    this.#start = this.#at
  }
}
