/** The bytes of a recording, uncompressed where its name ends in `.gz`, as they are read. */

import { createReadStream } from 'node:fs'
import { PassThrough, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { CacheError } from '@watchglass/base'

export async function* bytesOf(path: string): AsyncGenerator<Buffer, void> {
  const source = createReadStream(path)
  const stream: Transform = path.endsWith('.gz') ? createGunzip() : new PassThrough()
  const piped = pipeline(source, stream)
  piped.catch(() => undefined)
  try {
    yield* stream as AsyncIterable<Buffer>
    await piped
  } finally {
    source.destroy()
  }
}

export function unreadable(path: string, error: unknown): CacheError {
  const { message } = CacheError.from(error, 'invalid_request')
  return new CacheError('invalid_request', `${path} cannot be read: ${message}`, { cause: error })
}
