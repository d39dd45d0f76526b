/** Appends lines to a file in the background. Callers never wait for the disk. If the disk is full
 *  or missing, lines are lost and counted; nothing else fails.
 *
 *  The file is opened again for each write, so that it can be rotated without notice. */

import { constants, write } from 'node:fs'
import { open } from 'node:fs/promises'
import { type Clock, sleep } from '@watchglass/base'

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants

export interface LineFileOptions {
  readonly append: Append
  readonly clock: Clock
  /** Called with the number of lines that could not be written. */
  readonly onLost: (lines: number) => void
}

/** Appends bytes. If it fails, a part may have been written. An aborted signal gives them up. */
export type Append = (bytes: Buffer, signal: AbortSignal) => Promise<void>

/** The most bytes that wait for the disk: about a second of a busy service. Beyond it lines are
 *  lost. */
const waitingMaxBytes = 16 * 1024 * 1024

/** Lines that come together are written together. */
const gatherMs = 50

/** The time for the last lines: whoever stops does not wait for a reader that has stopped. */
const closeMaxMs = 1_000

export class LineFile {
  readonly #options: LineFileOptions
  #waiting: string[] = []
  #waitingBytes = 0
  /** Lines that are being written. */
  #under = 0
  #writing: Promise<void> | undefined
  readonly #givenUp = new AbortController()
  /** The last line may have been written only in part. */
  #isTorn = false

  constructor(options: LineFileOptions) {
    this.#options = options
  }

  /** Adds a line. Never fails. */
  write(line: string): void {
    if (this.#givenUp.signal.aborted || this.#waitingBytes + line.length > waitingMaxBytes) {
      this.#options.onLost(1)
      return
    }
    this.#waiting.push(line)
    this.#waitingBytes += line.length
    this.#writing ??= this.#writeAll()
  }

  /** Resolves when everything that was added is written, or given up after a second: to the number
   *  of lines that were. */
  async close(): Promise<number> {
    const { clock, onLost } = this.#options
    const { signal } = this.#givenUp
    const late = sleep(clock, closeMaxMs, signal).then(() => true)
    const written = Promise.resolve(this.#writing).then(() => false)
    const isLate = await Promise.race([late, written])
    const lost = isLate ? this.#under + this.#waiting.length : 0
    this.#waiting = []
    this.#givenUp.abort()
    if (lost > 0) onLost(lost)
    return lost
  }

  async #writeAll(): Promise<void> {
    const { append, clock, onLost } = this.#options
    const { signal } = this.#givenUp
    while (this.#waiting.length > 0) {
      await sleep(clock, gatherMs, signal)
      const lines = this.#waiting
      this.#waiting = []
      this.#waitingBytes = 0
      this.#under = lines.length
      try {
        await append(Buffer.from(`${this.#isTorn ? '\n' : ''}${lines.join('\n')}\n`), signal)
        this.#isTorn = false
      } catch {
        this.#isTorn = true
        if (!signal.aborted) onLost(lines.length)
      }
      this.#under = 0
    }
    this.#writing = undefined
  }
}

/** Appends to a file, which only its owner may read: names of users and objects are in it. A pipe
 *  in its place holds no thread: without a reader it fails, with one that has stopped it waits. */
export function appendTo(file: string, clock: Clock): Append {
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK
  return async (bytes, signal) => {
    const handle = await open(file, flags, 0o600)
    try {
      await writeAll({ fd: handle.fd, bytes, clock, signal })
    } finally {
      await handle.close()
    }
  }
}

/** Appends to standard output, of which Node makes pipes that never block. Its own stream would
 *  keep without a bound what is not read. */
export function appendToStandardOutput(clock: Clock): Append {
  return (bytes, signal) => writeAll({ fd: 1, bytes, clock, signal })
}

interface Writing {
  readonly fd: number
  readonly bytes: Buffer
  readonly clock: Clock
  readonly signal: AbortSignal
}

async function writeAll({ fd, bytes, clock, signal }: Writing): Promise<void> {
  for (let start = 0; start < bytes.length;) {
    signal.throwIfAborted()
    const written = await writePart(fd, bytes.subarray(start))
    if (written === 0) await sleep(clock, fullPipeMs, signal)
    start += written
  }
}

const fullPipeMs = 20

function writePart(fd: number, bytes: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, (error, written) => {
      if (error === null) resolve(written)
      else if (error.code === 'EAGAIN') resolve(0)
      else reject(error)
    })
  })
}
