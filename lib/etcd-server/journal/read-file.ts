/** Reads a file of a data folder into a replay, and tells an append that was cut off from damage:
 *  behind a torn end there is nothing. */

import { constants, type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { CacheError } from '@watchglass/base'
import type { KnownFile, NewFile } from './data-file.ts'
import { EntryMaker } from '../engine/entry-maker.ts'
import { diskFailure } from './disk-failures.ts'
import { fileName } from './file-names.ts'
import {
  decodeFrame,
  decodeHeader,
  frameHeadBytes,
  headerBytes,
  markBytes,
  payloadLength,
} from './frames.ts'
import { decodePayload } from './records.ts'
import type { Replay } from './replay.ts'

export interface ReadFileOptions extends NewFile {
  /** Only the last log may have a torn end. */
  readonly mayBeTorn: boolean
}

export interface ReadFile extends KnownFile {
  /** Bytes of an append that was cut off, behind the last whole frame. */
  readonly tornBytes: number
}

/** Reads the file to its end. A failure names the file and the place. */
export async function readDataFile(options: ReadFileOptions, replay: Replay): Promise<ReadFile> {
  const path = join(options.folder, fileName(options.kind, options.number))
  // To open a pipe would wait for somebody who writes to it.
  const { O_RDONLY, O_NONBLOCK } = constants
  const handle = await open(path, O_RDONLY | O_NONBLOCK).catch((error: unknown) => {
    throw diskFailure(path, error)
  })
  try {
    return await new FileReader(path, handle).read(options, replay)
  } catch (error) {
    throw diskFailure(path, error)
  } finally {
    await handle.close()
  }
}

/** Bytes that are read at once. */
const chunkBytes = 1024 * 1024

class FileReader {
  readonly #path: string
  readonly #handle: FileHandle
  #chunk: Buffer = Buffer.alloc(0)
  /** The place of the chunk in the file. */
  #chunkAt = 0

  constructor(path: string, handle: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  async read({ kind, number, mayBeTorn }: ReadFileOptions, replay: Replay): Promise<ReadFile> {
    const stats = await this.#handle.stat()
    if (!stats.isFile()) throw this.#wrong('is no file: put the file back from a copy')
    const { size } = stats
    const head = await this.#at(0, headerBytes)
    const header = this.#explained('', () => decodeHeader(head))
    if (header.kind !== kind || header.number !== number) {
      throw this.#wrong(`is ${fileName(header.kind, header.number)} under another name: rename it`)
    }
    const { mark } = header
    const maker = new EntryMaker()
    replay.beginFile()
    let at = headerBytes
    while (at < size) {
      const payload = await this.#payloadAt(at, mark, size)
      if (payload === undefined) {
        if (kind === 'snapshot') throw this.#damaged(at, 'put it back from a copy')
        const isTorn = mayBeTorn && !(await this.#hasFrameAfter(at, mark, size))
        if (!isTorn) throw this.#damaged(at, cutAdvice(this.#path, at, mayBeTorn))
        break
      }
      this.#explained(`at byte ${at} `, () => replay.apply(decodePayload(payload, maker)))
      at += frameHeadBytes + payload.length
    }
    const { sequence } = replay
    return { path: this.#path, mark, size: at, sequence, tornBytes: size - at }
  }

  /** Undefined where no whole frame is. */
  async #payloadAt(at: number, mark: Buffer, size: number): Promise<Buffer | undefined> {
    const length = payloadLength(mark, await this.#at(at, frameHeadBytes))
    if (length === undefined || at + frameHeadBytes + length > size) return undefined
    return decodeFrame(await this.#at(at, frameHeadBytes + length))
  }

  async #hasFrameAfter(place: number, mark: Buffer, size: number): Promise<boolean> {
    let at = place + 1
    while (at + frameHeadBytes <= size) {
      const found = (await this.#at(at, chunkBytes)).indexOf(mark)
      if (found < 0) {
        at += chunkBytes - markBytes
        continue
      }
      if ((await this.#payloadAt(at + found, mark, size)) !== undefined) return true
      at += found + 1
    }
    return false
  }

  /** Reads this many bytes, or as many as are left; valid until the next call. */
  async #at(place: number, length: number): Promise<Buffer> {
    const start = place - this.#chunkAt
    if (start >= 0 && start + length <= this.#chunk.length) {
      return this.#chunk.subarray(start, start + length)
    }
    const wanted = Math.max(length, chunkBytes)
    const chunk = Buffer.allocUnsafe(wanted)
    let filled = 0
    while (filled < wanted) {
      const { bytesRead } = await this.#handle.read(chunk, filled, wanted - filled, place + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    this.#chunk = chunk.subarray(0, filled)
    this.#chunkAt = place
    return this.#chunk.subarray(0, length)
  }

  /** Does a step whose failures do not know the file. */
  #explained<T>(where: string, step: () => T): T {
    try {
      return step()
    } catch (error) {
      const { message } = CacheError.from(error, 'invalid_request')
      throw this.#wrong(`${where}${message}`)
    }
  }

  #damaged(at: number, advice: string): CacheError {
    return this.#wrong(
      `is damaged at byte ${at}: ${advice}, or name an empty folder to begin again`,
    )
  }

  #wrong(message: string): CacheError {
    return new CacheError('invalid_request', `${this.#path} ${message}`)
  }
}

function cutAdvice(path: string, at: number, isLast: boolean): string {
  const whole = isLast
    ? 'what follows is whole, so this is no write that was cut off'
    : 'it is not the last log, so this is no write that was cut off'
  const others = isLast ? '' : ' and remove the logs after it'
  return `${whole}; put the file back from a copy, or give up everything from there on (truncate -s ${at} ${path}${others})`
}
