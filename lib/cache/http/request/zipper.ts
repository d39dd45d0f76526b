/** Compresses bodies with gzip, in runs that are compressed separately in zlib's threads. The items
 *  of a whole leaf are compressed once and kept with the leaf, so a repeated list costs about as
 *  much as an uncompressed one. */

import { constants, crc32, deflateRaw } from 'node:zlib'
import {
  crcShift,
  GzipMember,
  holderOfKept,
  type Segment,
  storedBlocks,
  type ZippedRun,
} from '@watchglass/codec'
import type { SegmentCache, SegmentHolder } from '@watchglass/store'
import type { Pieces } from '../server/respond.ts'

/** Speed before size, as upstream. */
const level = 1
/** The compression level of pieces that are kept: they are compressed once and sent often. 10,000
 *  pods in leaves of 16 take as many bytes as with level 1 in one go; with level 1 they take a
 *  quarter more (bench/list, November 2026). */
const keptLevel = 4

/** The size of the runs in which other pieces are compressed. A run cannot refer back to the runs
 *  before it. */
const runBytes = 128 * 1024
/** Runs up to this size are stored uncompressed: they are not worth the way to another thread. */
const storedBytes = 512
/** Compressed bytes are passed on in pieces of at least this size, because each write costs
 *  time. */
const pieceBytes = 64 * 1024

export class Zipper {
  readonly #cache: SegmentCache<Segment>
  /** Runs that are being compressed to be kept, so that the same work is not done twice. */
  readonly #pending = new WeakMap<SegmentHolder, Promise<ZippedRun>>()

  constructor(cache: SegmentCache<Segment>) {
    this.#cache = cache
  }

  /** One gzip member with all pieces. Each run is compressed when it is needed. */
  async *zip(pieces: Pieces): AsyncGenerator<Uint8Array, void, undefined> {
    const member = new GzipMember()
    const output = new Gathered(pieceBytes)
    const plain = new Gathered(runBytes)
    output.add(member.head)
    for await (const piece of pieces) {
      const holder = holderOfKept(piece)
      if (holder === undefined) {
        for (const part of partsOf(piece)) {
          plain.add(part)
          if (plain.isEnough) output.add(member.add(await zipped(plain.take())))
          if (output.isEnough) yield output.take()
        }
        continue
      }
      if (plain.bytes > 0) output.add(member.add(await zipped(plain.take())))
      const kept = this.#cache.get(holder, name)?.zipped
      output.add(member.add(kept ?? (await this.#zipAndKeep(piece, holder))))
      if (output.isEnough) yield output.take()
    }
    if (plain.bytes > 0) output.add(member.add(await zipped(plain.take())))
    output.add(member.end())
    yield output.take()
  }

  #zipAndKeep(bytes: Uint8Array, holder: SegmentHolder): Promise<ZippedRun> {
    const known = this.#pending.get(holder)
    if (known !== undefined) return known
    const zipping = zipped(bytes, keptLevel)
      .then(run => {
        const segment = { bytes: run.deflated, ends: noEnds, zipped: run }
        this.#cache.set(holder, name, segment, run.deflated.length + overheadBytes)
        return run
      })
      .finally(() => this.#pending.delete(holder))
    this.#pending.set(holder, zipping)
    return zipping
  }
}

const name = 'gzip'
const noEnds = new Uint32Array(0)
/** The memory that a kept run takes beside its bytes. */
const overheadBytes = 400

async function zipped(bytes: Uint8Array, atLevel: number = level): Promise<ZippedRun> {
  const deflated = bytes.length <= storedBytes ? storedBlocks(bytes) : await deflate(bytes, atLevel)
  const { length } = bytes
  return { deflated, crc: crc32(bytes), length, shift: crcShift(length) }
}

function deflate(bytes: Uint8Array, atLevel: number): Promise<Uint8Array> {
  // A full flush ends a run so that it can follow any other.
  const options = { level: atLevel, finishFlush: constants.Z_FULL_FLUSH }
  return new Promise((resolve, reject) => {
    deflateRaw(bytes, options, (error, deflated) => {
      if (error === null) resolve(deflated)
      else reject(error)
    })
  })
}

/** A piece as it is, or in parts that are no larger than a run. */
function* partsOf(piece: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let at = 0; at < piece.length; at += runBytes) yield piece.subarray(at, at + runBytes)
}

/** Pieces that are compressed together. */
class Gathered {
  readonly #wantedBytes: number
  #pieces: Uint8Array[] = []
  bytes = 0

  constructor(wantedBytes: number) {
    this.#wantedBytes = wantedBytes
  }

  get isEnough(): boolean {
    return this.bytes >= this.#wantedBytes
  }

  add(piece: Uint8Array): void {
    this.#pieces.push(piece)
    this.bytes += piece.length
  }

  take(): Uint8Array {
    const pieces = this.#pieces
    this.#pieces = []
    this.bytes = 0
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  }
}
