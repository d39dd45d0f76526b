/** The token of a `tokenFile`, which is replaced while we run: tokens of service accounts are valid
 *  for an hour. */

import { CacheError, type Clock } from '@watchglass/base'
import { isHeaderText } from '../file/clean-text.ts'
import { readingProblem } from '../file/load.ts'
import type { KubeconfigSystem } from '../system.ts'

/** client-go reads again after a minute, and lets requests fail meanwhile. */
const rereadAfterMs = 1_000

export interface FileTokenOptions {
  readonly path: string
  /** The user of the kubeconfig, for messages. */
  readonly place: string
  /** The `token` beside it, which is used until the file has been read once; empty if there is
   *  none. */
  readonly fallback: string
  readonly readFile: KubeconfigSystem['readFile']
  readonly clock: Clock
}

export class FileToken {
  readonly #options: FileTokenOptions
  #token: string
  #readAtMs = Number.NEGATIVE_INFINITY
  #reading: Promise<string> | undefined = undefined

  constructor(options: FileTokenOptions) {
    this.#options = options
    this.#token = options.fallback
  }

  /** The current token, or the last one while the file cannot be read. Fails with `unauthorized` if
   *  there never was one. */
  token(): Promise<string> {
    const { clock } = this.#options
    if (clock.monotonicMs() - this.#readAtMs < rereadAfterMs) return Promise.resolve(this.#token)
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<string> {
    const { path, place, clock, readFile } = this.#options
    const found = await readFile(path).then(tokenIn, (error: unknown) => ({
      problem: readingProblem(error),
    }))
    if (typeof found === 'string') this.#token = found
    else if (this.#token === '') {
      throw new CacheError('unauthorized', `${place}: tokenFile ${path}: ${found.problem}`)
    }
    this.#readAtMs = clock.monotonicMs()
    return this.#token
  }
}

function tokenIn(bytes: Buffer): string | { readonly problem: string } {
  const text = bytes.toString().trim()
  if (text === '') return { problem: 'it is empty' }
  return isHeaderText(text) ? text : { problem: 'it has more than one line' }
}
