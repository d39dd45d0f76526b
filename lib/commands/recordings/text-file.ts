/** A file that is written bit by bit, compressed when its name ends in `.gz`, waiting while the
 *  disk is slow. */

import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { PassThrough, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { CacheError } from '../../base/errors.ts'

export class TextFile {
  readonly #path: string
  readonly #sink: Writable
  readonly #written: Promise<void>

  private constructor(path: string, sink: Writable, written: Promise<void>) {
    this.#path = path
    this.#sink = sink
    this.#written = written
  }

  /** Creates the file, or empties the one that is there. */
  static async create(path: string): Promise<TextFile> {
    const file = createWriteStream(path)
    await once(file, 'open').catch((error: unknown) => {
      throw unwritable(path, error)
    })
    const sink = path.endsWith('.gz') ? createGzip() : new PassThrough()
    const written = pipeline(sink, file)
    // Reported by whoever writes next, or closes.
    written.catch(() => undefined)
    return new TextFile(path, sink, written)
  }

  async write(text: string): Promise<void> {
    if (text === '') return
    try {
      if (this.#sink.destroyed) await this.#written
      if (!this.#sink.write(text)) {
        await Promise.race([once(this.#sink, 'drain'), this.#written])
      }
    } catch (error) {
      throw unwritable(this.#path, error)
    }
  }

  /** Resolves once all is in the file. */
  async close(): Promise<void> {
    this.#sink.end()
    await this.#written.catch((error: unknown) => {
      throw unwritable(this.#path, error)
    })
  }
}

export function unwritable(path: string, error: unknown): CacheError {
  const { message } = CacheError.from(error, 'invalid_request')
  return new CacheError('invalid_request', `${path} cannot be written: ${message}`, {
    cause: error,
  })
}
