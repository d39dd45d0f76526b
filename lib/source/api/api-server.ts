/** The API that is followed: questions with one answer, and watches. All resources ask here, so
 *  that a server which is busy (429) is left alone by all of them, and only a few lists run at
 *  once. */

import type { IncomingHttpHeaders } from 'node:http'
import { CacheError, type Clock, type Random, sleep, version } from '@watchglass/base'
import {
  type ForwardControl,
  type ForwardSink,
  headerLines,
  type Upstream,
} from '@watchglass/proxy'
import { type ApiAnswer, failureFromAnswer } from './answers.ts'

export interface ApiServerOptions {
  readonly upstream: Pick<Upstream, 'forward' | 'credentials'>
  readonly clock: Clock
  readonly random: Random
}

export interface ApiQuestion {
  /** Path and query. */
  readonly path: string
  readonly accept: string
  readonly signal: AbortSignal
}

/** Receives a watch. `ended` is the last call, and comes exactly once unless it was cancelled. */
export interface ApiWatchSink {
  /** The server has begun to watch. */
  started(): void
  /** False if no more should come until `resume`. */
  data(piece: Uint8Array): boolean
  /** The server has ended it, or failed. */
  ended(failure: CacheError | undefined): void
}

export interface ApiWatch {
  resume(): void
  cancel(): void
}

/** Pages of lists that are read at the same time, over all resources: a start with sixty resources
 *  must not be the list storm that it is there to prevent. */
const pagesMax = 4
/** A page has at most 5000 objects, and is asked for with a size of a megabyte in mind. */
const answerMaxBytes = 256 * 1024 * 1024
/** An answer that refuses a watch. */
const refusalMaxBytes = 64 * 1024

export class ApiServer {
  readonly #options: ApiServerOptions
  readonly #waiting: (() => void)[] = []
  #pages = 0
  #leftUntilMs = 0

  constructor(options: ApiServerOptions) {
    this.#options = options
  }

  /** The answer, which is 200. Fails as `failureFromAnswer` says, with `source_failed` if there is
   *  none, and with `closed`. */
  async ask(question: ApiQuestion): Promise<ApiAnswer> {
    await this.#leaveAlone(question.signal)
    const headers = await this.#headers(question.accept)
    const answer = await new Promise<ApiAnswer>((resolve, reject) => {
      const { path, signal } = question
      const abort = (): void => sink.abandon()
      const settle = (): void => signal.removeEventListener('abort', abort)
      const sink = new WholeAnswer(
        answered => (settle(), resolve(answered)),
        failure => (settle(), reject(failure)),
      )
      signal.addEventListener('abort', abort, { once: true })
      sink.control = this.#forward(path, headers, false, sink)
      if (signal.aborted) sink.abandon()
    })
    if (answer.code !== 200) throw this.#refused(answer)
    return answer
  }

  /** Asks for a page of a list, of which only a few are read at once. */
  async askPage(question: ApiQuestion): Promise<ApiAnswer> {
    if (this.#pages >= pagesMax) await this.#turn(question.signal)
    else this.#pages++
    try {
      return await this.ask(question)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#pages--
      else next()
    }
  }

  /** Opens a watch. */
  watch({ path, accept, signal }: ApiQuestion, sink: ApiWatchSink): ApiWatch {
    let control: ForwardControl | undefined
    let isOver = signal.aborted
    const cancel = (): void => {
      isOver = true
      control?.abort()
    }
    const end = (failure: CacheError | undefined): void => {
      if (isOver) return
      isOver = true
      sink.ended(failure)
    }
    const receiver = new WatchReceiver(sink, end, answer => this.#refused(answer))
    const begin = async (): Promise<void> => {
      await this.#leaveAlone(signal)
      const headers = await this.#headers(accept)
      if (!isOver) control = this.#forward(path, headers, true, receiver)
    }
    begin().catch((error: unknown) => end(CacheError.from(error, 'source_failed')))
    return { resume: () => control?.resume(), cancel }
  }

  /** A turn is handed on by whoever has one. */
  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = (): void => {
        const at = this.#waiting.indexOf(begin)
        if (at >= 0) this.#waiting.splice(at, 1)
        reject(abandoned())
      }
      this.#waiting.push(begin)
      signal.addEventListener('abort', abort, { once: true })
      if (signal.aborted) abort()
    })
  }

  async #leaveAlone(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const leftMs = this.#leftUntilMs - clock.monotonicMs()
    if (leftMs > 0) await sleep(clock, leftMs, signal)
    if (signal.aborted) throw abandoned()
  }

  async #headers(accept: string): Promise<string[]> {
    const { upstream } = this.#options
    const own = await upstream.credentials()
    return headerLines({ accept, 'user-agent': `watchglass/${version}`, ...own })
  }

  #forward(
    path: string,
    headers: readonly string[],
    isLongRunning: boolean,
    sink: ForwardSink,
  ): ForwardControl {
    const request = { method: 'GET', path, headers, body: undefined, isLongRunning }
    return this.#options.upstream.forward({ ...request, as: 'ourselves', isIdentified: true }, sink)
  }

  /** Notes how long a busy server is to be left alone, each time a little longer than it says:
   *  other clients that were told the same do not come back at the same moment. */
  #refused(answer: ApiAnswer): CacheError {
    const failure = failureFromAnswer(answer)
    if (failure.code === 'overloaded') {
      const { clock, random } = this.#options
      const afterMs = (failure.details.retryAfterMs ?? 0) * (1 + random.next() / 2)
      this.#leftUntilMs = Math.max(this.#leftUntilMs, clock.monotonicMs() + afterMs)
    }
    return failure
  }
}

/** Collects an answer. */
class WholeAnswer implements ForwardSink {
  control: ForwardControl | undefined = undefined
  readonly #resolve: (answer: ApiAnswer) => void
  readonly #reject: (failure: CacheError) => void
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #code = 0
  #headers: IncomingHttpHeaders = {}

  constructor(resolve: (answer: ApiAnswer) => void, reject: (failure: CacheError) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  abandon(): void {
    this.control?.abort()
    this.#reject(abandoned())
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#code = code
    this.#headers = headers
  }

  data(piece: Uint8Array): boolean {
    this.#bytes += piece.length
    if (this.#bytes > answerMaxBytes) {
      this.control?.abort()
      this.failed(new CacheError('source_failed', `an answer is above ${answerMaxBytes} bytes`))
      return true
    }
    this.#pieces.push(Buffer.from(piece))
    return true
  }

  ended(): void {
    const body = Buffer.concat(this.#pieces, this.#bytes)
    this.#resolve({ code: this.#code, headers: this.#headers, body })
  }

  failed(failure: Error): void {
    this.#reject(sourceFailure(failure))
  }
}

/** Passes a watch on, once it is one. */
class WatchReceiver implements ForwardSink {
  readonly #sink: ApiWatchSink
  readonly #end: (failure: CacheError | undefined) => void
  readonly #refused: (answer: ApiAnswer) => CacheError
  readonly #refusal: Buffer[] = []
  #refusalBytes = 0
  #code = 0
  #headers: IncomingHttpHeaders = {}

  constructor(
    sink: ApiWatchSink,
    end: (failure: CacheError | undefined) => void,
    refused: (answer: ApiAnswer) => CacheError,
  ) {
    this.#sink = sink
    this.#end = end
    this.#refused = refused
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#code = code
    this.#headers = headers
    if (code === 200) this.#sink.started()
  }

  data(piece: Uint8Array): boolean {
    if (this.#code === 200) return this.#sink.data(piece)
    this.#refusalBytes += piece.length
    if (this.#refusalBytes <= refusalMaxBytes) this.#refusal.push(Buffer.from(piece))
    return true
  }

  ended(): void {
    if (this.#code === 200) this.#end(undefined)
    else {
      const body = Buffer.concat(this.#refusal)
      this.#end(this.#refused({ code: this.#code, headers: this.#headers, body }))
    }
  }

  failed(failure: Error): void {
    this.#end(sourceFailure(failure))
  }
}

function sourceFailure(failure: Error): CacheError {
  const { message } = failure
  return new CacheError('source_failed', message, { cause: failure })
}

function abandoned(): CacheError {
  return new CacheError('closed', 'the question was abandoned')
}
