/** Standard input and output of commands that convert: a whole value, or line by line. */

import { CacheError } from '@watchglass/base'
import { linesIn } from './lines.ts'

/** Far above what etcd takes as one value, and small enough to keep in memory. */
const inputMaxBytes = 64 * 1024 * 1024

/** Everything that standard input holds. */
export async function readInput(): Promise<Buffer> {
  if (process.stdin.isTTY) {
    throw new CacheError('invalid_request', 'nothing to read: give a value on standard input')
  }
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of process.stdin as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > inputMaxBytes) {
      throw new CacheError(
        'invalid_request',
        `standard input is longer than ${inputMaxBytes} bytes`,
      )
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** Writes to standard output, waiting while a reader is slow. False when the reader has closed the
 *  pipe, which is not a failure: it may have seen enough. */
export async function writeOutput(bytes: Uint8Array | string): Promise<boolean> {
  const { stdout } = process
  if (!stdout.writable) return false
  if (stdout.write(bytes)) return true
  return new Promise(resolve => {
    const done = (isRead: boolean) => (): void => {
      stdout.off('drain', drained).off('error', closed).off('close', closed)
      resolve(isRead)
    }
    const drained = done(true)
    const closed = done(false)
    stdout.on('drain', drained).on('error', closed).on('close', closed)
  })
}

/** Converts standard input line by line, in order, until it ends or the reader of the output has
 *  gone. */
export async function convertLines(convert: (line: string) => string): Promise<void> {
  let pending = ''
  const lines = linesIn(process.stdin as AsyncIterable<Buffer>, inputMaxBytes)
  for (;;) {
    const { done = false, value } = await lines.next()
    const line = typeof value === 'string' ? value : value.rest
    // The last line may lack its line feed.
    if (!done || line !== '') pending += `${convert(line.replace(/\r$/, ''))}\n`
    if (!done && pending.length < outputChunk) continue
    if (pending !== '' && !(await writeOutput(pending))) return
    if (done) return
    pending = ''
  }
}

/** Lines are short; writing them together saves most system calls. */
const outputChunk = 64 * 1024
