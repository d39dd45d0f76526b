/** Appends lines to a file in the background. Callers never wait for the disk. If the disk is full
 *  or missing, lines are lost and counted; nothing else fails.
 *
 *  The file is opened again for each write, so that it can be rotated without notice. */

import { appendFile } from 'node:fs/promises'
import { write } from 'node:fs'
import { type Clock, sleep } from '../../base/clock.ts'

export interface LineFileOptions {
  readonly append: Append
  readonly clock: Clock
  /** Called with the number of lines that could not be written. */
  readonly onLost: (lines: number) => void
}

/** Appends bytes. If it fails, a part may have been written. */
export type Append = (bytes: Buffer) => Promise<void>

/** The most bytes that wait for the disk: about a second of a busy service. Beyond it lines are
 *  lost. */
const waitingMaxBytes = 16 * 1024 * 1024

/** Lines that come together are written together. */
const gatherMs = 50

export class LineFile {
  readonly #options: LineFileOptions
  #waiting: string[] = []
  #waitingBytes = 0
  #writing: Promise<void> | undefined
  /** The last line may have been written only in part. */
  #isTorn = false

  constructor(options: LineFileOptions) {
    this.#options = options
  }

  /** Adds a line. Never fails. */
  write(line: string): void {
    if (this.#waitingBytes + line.length > waitingMaxBytes) {
      this.#options.onLost(1)
      return
    }
    this.#waiting.push(line)
    this.#waitingBytes += line.length
    this.#writing ??= this.#writeAll()
  }

  /** Resolves when everything that was added is written, or lost. */
  async flush(): Promise<void> {
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    const { append, clock, onLost } = this.#options
    while (this.#waiting.length > 0) {
      await sleep(clock, gatherMs)
      const lines = this.#waiting
      this.#waiting = []
      this.#waitingBytes = 0
      try {
        await append(Buffer.from(`${this.#isTorn ? '\n' : ''}${lines.join('\n')}\n`))
        this.#isTorn = false
      } catch {
        this.#isTorn = true
        onLost(lines.length)
      }
    }
    this.#writing = undefined
  }
}

/** Appends to a file, which only its owner may read: names of users and objects are in it. */
export function appendTo(file: string): Append {
  return bytes => appendFile(file, bytes, { mode: 0o600 })
}

/** Appends to standard output without blocking. Node's own stream blocks the process on a pipe that
 *  is not read. */
export function appendToStandardOutput(clock: Clock): Append {
  return async bytes => {
    for (let start = 0; start < bytes.length;) {
      const written = await writePart(bytes.subarray(start))
      if (written === 0) await sleep(clock, fullPipeMs)
      start += written
    }
  }
}

const fullPipeMs = 20

function writePart(bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(1, bytes, (error, written) => {
      if (error === null) resolve(written)
      else if (error.code === 'EAGAIN') resolve(0)
      else reject(error)
    })
  })
}
