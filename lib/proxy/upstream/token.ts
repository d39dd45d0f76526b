/** Our own token for the upstream, from a file that is replaced while we run: tokens of service
 *  accounts are valid for an hour. */

import { readFile } from 'node:fs/promises'
import { CacheError, type Clock } from '@watchglass/base'

/** The file is read again after this time: kubelet replaces a token when a fifth of its lifetime is
 *  left. */
const rereadAfterMs = 1_000

export class TokenFile {
  readonly #file: string
  readonly #clock: Clock
  #token = ''
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<string> | undefined

  constructor(file: string, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  /** The current token. While the file cannot be read, or has none because it is being written, the
   *  last one is used; fails with `invalid_request` if there never was one. */
  token(): Promise<string> {
    if (this.#clock.monotonicMs() - this.#readAtMs < rereadAfterMs) {
      return Promise.resolve(this.#token)
    }
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<string> {
    try {
      this.#token = await tokenIn(this.#file)
    } catch (error) {
      if (this.#token === '') throw error
    }
    this.#readAtMs = this.#clock.monotonicMs()
    return this.#token
  }
}

async function tokenIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `--upstream-token-file cannot be read: ${message}`)
  })
  const token = text.trim()
  if (/^[\x21-\x7e]+$/.test(token)) return token
  throw new CacheError('invalid_request', `--upstream-token-file ${file} holds no token`)
}
