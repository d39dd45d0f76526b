/** The files of a data folder on the disk: made whole or not at all, appended to frame by frame. */

import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from './disk-failures.ts'
import { fileName, newName } from './file-names.ts'
import { encodeFrame, encodeHeader, type FileKind, markBytes } from './frames.ts'
import { encodePayload } from './records.ts'

/** For its owner only: the values of all Secrets are in there. */
const fileMode = 0o600

export interface NewFile {
  readonly folder: string
  readonly kind: FileKind
  readonly number: number
}

export interface KnownFile {
  readonly path: string
  readonly mark: Buffer
  /** The end of its last whole frame, and the number of that. */
  readonly size: number
  readonly sequence: number
}

export class DataFile {
  readonly path: string
  readonly #handle: FileHandle
  readonly #mark: Buffer
  #size: number
  #sequence: number

  private constructor(handle: FileHandle, { path, mark, size, sequence }: KnownFile) {
    this.path = path
    this.#handle = handle
    this.#mark = mark
    this.#size = size
    this.#sequence = sequence
  }

  /** Opens a file to go on with; whatever is behind its last whole frame is cut off. */
  static async open(known: KnownFile): Promise<DataFile> {
    const file = new DataFile(await open(known.path, 'r+'), known)
    await file.cut()
    return file
  }

  /** Makes a file that `fill` writes the first frames of. It has its name only once all that is on
   *  the disk. */
  static async create(
    { folder, kind, number }: NewFile,
    fill: (file: DataFile) => Promise<void>,
  ): Promise<DataFile> {
    const path = join(folder, fileName(kind, number))
    const unfinished = newName(path)
    await unlink(unfinished).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error
    })
    // Made anew and never opened: a link of that name would have us write wherever it leads.
    const handle = await open(unfinished, 'wx+', fileMode)
    try {
      const mark = randomBytes(markBytes)
      const file = new DataFile(handle, { path, mark, size: 0, sequence: 0 })
      await file.#write(encodeHeader({ kind, number, mark }))
      await fill(file)
      await handle.sync()
      await rename(unfinished, path)
      await syncFolder(folder)
      return file
    } catch (error) {
      await handle.close().catch(() => undefined)
      await unlink(unfinished).catch(() => undefined)
      throw error
    }
  }

  /** Bytes up to the end of the last whole frame. */
  get size(): number {
    return this.#size
  }

  /** Appends records as one frame. After a failure there may be a part of it, which is overwritten
   *  by the next one or has to be cut. */
  async append(records: Uint8Array, runningMs: number): Promise<void> {
    const payload = encodePayload(this.#sequence + 1, runningMs, records)
    await this.#write(encodeFrame(this.#mark, payload))
    this.#sequence++
  }

  /** Resolves once the system has put everything on the disk. */
  async sync(): Promise<void> {
    await this.#handle.datasync()
  }

  /** Cuts off what is behind the last whole frame. */
  async cut(): Promise<void> {
    await this.#handle.truncate(this.#size)
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const left = bytes.length - done
      const { bytesWritten } = await this.#handle.write(bytes, done, left, this.#size + done)
      done += bytesWritten
    }
    this.#size += bytes.length
  }
}

/** A name is on the disk once its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
