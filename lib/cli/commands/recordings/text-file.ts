/** A file that is written bit by bit, compressed when its name ends in `.gz`, waiting while the
 *  disk is slow. */

import { once } from 'node:events'
import { type FileHandle, lstat, open, unlink } from 'node:fs/promises'
import { PassThrough, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { CacheError } from '@watchglass/base'

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
  static async create(path: string, access: FileAccess = 'private'): Promise<TextFile> {
    const file = (await openToWrite(path, access)).createWriteStream()
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

/** The readers of a file: its owner alone, since the values of Secrets are in it, or everybody whom
 *  the system lets. */
export type FileAccess = 'private' | 'shared'

/** Opens a file to write from its beginning. A private one is made anew, so that nobody has the old
 *  one open; what a link leads to is taken from others. A pipe or a device stays as it is. */
export async function openToWrite(path: string, access: FileAccess): Promise<FileHandle> {
  try {
    if (access === 'shared') return await open(path, 'w')
    const known = await lstat(path).catch(() => undefined)
    if (known?.isFile() === true) await unlink(path)
    const handle = await open(path, 'w', 0o600)
    try {
      if ((await handle.stat()).isFile()) await handle.chmod(0o600)
    } catch (error) {
      await handle.close()
      throw error
    }
    return handle
  } catch (error) {
    throw unwritable(path, error)
  }
}

export function unwritable(path: string, error: unknown): CacheError {
  const { message } = CacheError.from(error, 'invalid_request')
  return new CacheError('invalid_request', `${path} cannot be written: ${message}`, {
    cause: error,
  })
}
