/** The contents that `watchglass save` wrote, from which a mirror starts: from a file, or from an
 *  object store by one GET, whose address may be signed. Everything is read and compared with the
 *  checksum before any of it counts. */

import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip, crc32 } from 'node:zlib'
import { CacheError, type Clock, Slice } from '@watchglass/base'
import type { Checkpoint, CheckpointContents } from '@watchglass/cache'
import { BTreeBuilder, type KeyValue, SlabWriter } from '@watchglass/store'
import { invalid } from '../../options/invalid.ts'
import type { CheckpointPlace } from '../../options/mirrored.ts'
import { linesIn } from '../lines.ts'
import { baseBegin, baseEnd, type BaseMark, baseMarkIn, parseLine } from './line.ts'
import { getObject } from './object-store.ts'
import { lineMaxBytes } from './recording.ts'

/** Five gigabytes at ten megabytes a second. A store that sends a byte now and then must not hold a
 *  start for ever. */
const readMaxMs = 600_000
/** Lines that are parsed before the clock is asked. */
const clockCheckLines = 16

export interface CheckpointFileOptions {
  readonly place: CheckpointPlace
  readonly clock: Clock
  /** Bytes of keys and values that may be held. */
  readonly maxBytes: number
}

export class CheckpointFile implements Checkpoint {
  readonly name: string
  readonly #options: CheckpointFileOptions

  constructor(options: CheckpointFileOptions) {
    const { place } = options
    this.#options = options
    // Behind the path is a signature, with which anyone could read it.
    this.name = typeof place === 'string' ? place : `${place.origin}${place.pathname}`
  }

  async read(signal: AbortSignal): Promise<CheckpointContents> {
    const { clock } = this.#options
    const late = new AbortController()
    const cancelTimer = clock.setTimer(readMaxMs, () => late.abort())
    try {
      return await this.#contents(AbortSignal.any([signal, late.signal]))
    } catch (error) {
      if (late.signal.aborted) throw invalid(`it is not read after ${readMaxMs / 1000} s`, error)
      throw error
    } finally {
      cancelTimer()
    }
  }

  async #contents(signal: AbortSignal): Promise<CheckpointContents> {
    const { place, clock, maxBytes } = this.#options
    const base = new Base(maxBytes)
    const slice = new Slice(clock)
    let number = 0
    for await (const text of this.#lines(place, signal)) {
      number++
      try {
        if (base.take(text)) break
      } catch (error) {
        const { message } = CacheError.from(error, 'invalid_request')
        throw invalid(`line ${number}: ${message}`, error)
      }
      if (number % clockCheckLines === 0 && slice.isOver) await slice.next()
    }
    return base.finish()
  }

  async *#lines(place: CheckpointPlace, signal: AbortSignal): AsyncGenerator<string, void> {
    try {
      yield* linesIn(plainBytes(place, signal), lineMaxBytes)
    } catch (error) {
      const { message } = CacheError.from(error, 'invalid_request')
      throw invalid(`it cannot be read: ${message}`, error)
    }
  }
}

/** The base of a recording while it is read. */
class Base {
  readonly #maxBytes: number
  readonly #entries = new BTreeBuilder<KeyValue>()
  readonly #slabs = new SlabWriter()
  #begin: BaseMark | undefined = undefined
  #end: BaseMark | undefined = undefined
  #checksum = 0
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Takes a line; true after the last one. */
  take(text: string): boolean {
    const mark = baseMarkIn(text)
    if (this.#begin === undefined) {
      if (mark?.type !== baseBegin || mark.clusterId === undefined) {
        throw invalid('it does not say of which etcd it is: `watchglass save` writes what does')
      }
      this.#begin = mark
      return false
    }
    if (mark?.type === baseEnd) {
      this.#end = mark
      return true
    }
    this.#checksum = crc32(text, this.#checksum)
    const { revision, change } = parseLine(text, this.#slabs)
    if (change.type !== 'put' || revision !== this.#begin.revision) {
      throw invalid(`it is not of the contents at revision ${this.#begin.revision}`)
    }
    const { entry } = change
    this.#bytes += entry.key.length + entry.valueLength
    if (this.#bytes > this.#maxBytes) throw invalid(`there are more than ${this.#maxBytes} bytes`)
    this.#entries.add(entry)
    return false
  }

  finish(): CheckpointContents {
    const { size } = this.#entries
    if (this.#begin?.clusterId === undefined || this.#end === undefined) {
      throw invalid(`it is cut off after ${size} objects`)
    }
    const { revision, clusterId } = this.#begin
    const { lines, checksum } = this.#end
    if (lines !== size || checksum !== this.#checksum || this.#end.revision !== revision) {
      throw invalid('it is damaged: its checksum is another one')
    }
    return { clusterId, revision, entries: this.#entries.finish() }
  }
}

/** The bytes, uncompressed where they begin as gzip does: the name of an object says nothing. */
async function* plainBytes(
  place: CheckpointPlace,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const source =
    typeof place === 'string' ? createReadStream(place) : await getObject(place, signal)
  const stop = (): void => void source.destroy(new Error('it was stopped'))
  signal.addEventListener('abort', stop, { once: true })
  try {
    const chunks = (source as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
    const first = await chunks.next()
    if (first.done === true) return
    const rest = { [Symbol.asyncIterator]: () => chunks }
    const all = withFirst(first.value, rest)
    yield* isGzip(first.value) ? unzipped(all) : all
  } finally {
    signal.removeEventListener('abort', stop)
    source.destroy()
  }
}

async function* withFirst(
  first: Buffer,
  rest: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  yield first
  yield* rest
}

async function* unzipped(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip()
  const piped = pipeline(bytes, gunzip)
  piped.catch(() => undefined)
  try {
    yield* gunzip as AsyncIterable<Buffer>
    await piped
  } finally {
    gunzip.destroy()
  }
}

function isGzip(bytes: Buffer): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b
}
