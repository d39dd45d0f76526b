/** One watch: a stream of its own on the watch connection of one member. It is opened once; whoever
 *  asked for it decides where to go after it has ended. */

import { setImmediate } from 'node:timers/promises'
import { CacheError } from '@watchglass/base'
import type { ResponseHeader, WatchRequest, WatchSink, WatchStream } from '../client.ts'
import { piecesOf, type WatchResponseMessage, watchRequestCodec } from '../proto/watch-messages.ts'
import { FragmentJoiner, changesFromEvents, headerFromMessage, messageFromWatch } from '../wire.ts'
import type { Call } from './call.ts'
import type { Endpoint } from './endpoints.ts'
import { failureFromCancel, failureFromStatus, isWatchRefused, unreadable } from './failures.ts'
import { createWatchMethod } from './methods.ts'
import type { TokenSource } from './token.ts'

const progressRequest = watchRequestCodec.encode({ request: { type: 'progress', value: {} } })

export interface WatchContext {
  readonly endpoint: Endpoint
  readonly connectTimeoutMs: number
  /** Source of tokens; none without a user. */
  readonly tokens: TokenSource | undefined
  /** The stream has ended in whatever way; with `isFault` when it was the endpoint's. */
  finished(stream: GrpcWatchStream, isFault: boolean): void
}

export class GrpcWatchStream implements WatchStream {
  readonly endpoint: string
  readonly #context: WatchContext
  readonly #request: WatchRequest
  readonly #sink: WatchSink
  readonly #method = createWatchMethod()
  #joiner = new FragmentJoiner()
  #stream: Call | undefined
  #isHeld = false
  /** A response is being read, in turns. */
  #isReading = false
  #isCreated = false
  #isOver = false

  constructor(context: WatchContext, request: WatchRequest, sink: WatchSink) {
    this.endpoint = context.endpoint.url
    this.#context = context
    this.#request = request
    this.#sink = sink
  }

  /** Opens the stream. Nothing is delivered before it returns. */
  open(): void {
    this.#openOnce(true).catch((error: unknown) => {
      this.end(CacheError.from(error, 'source_failed'))
    })
  }

  requestProgress(): void {
    // Before the watcher is created, etcd may answer that it is in sync when it has not begun.
    if (this.#isCreated) {
      this.#stream?.write(progressRequest)
    }
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    if (!this.#isReading) this.#stream?.hold(isHeld)
  }

  cancel(): void {
    this.#finish(false)
  }

  /** Tells the sink that it is over, unless it is already. */
  end(failure: CacheError): void {
    if (this.#finish(failure.code === 'source_failed')) this.#sink.ended(failure)
  }

  async #openOnce(isFirst: boolean): Promise<void> {
    const { endpoint, connectTimeoutMs, tokens } = this.#context
    await endpoint.watches.connect(connectTimeoutMs)
    const token = await tokens?.get(endpoint.watches)
    if (this.#isOver) return
    const renew = (): boolean => {
      if (!isFirst) return false
      tokens?.forget(token)
      return tokens !== undefined
    }
    let stream: Call | undefined
    const { path, request } = this.#method
    const first = request.encode(messageFromWatch(this.#request))
    const options = { token, needsLeader: true, timeoutMs: connectTimeoutMs }
    stream = await endpoint.watches.stream(path, first, options, {
      message: bytes => {
        if (this.#stream === stream) this.#receive(bytes, renew)
      },
      ended: status => {
        if (this.#stream === stream) this.#refused(failureFromStatus(status, this.endpoint), renew)
      },
    })
    if (this.#isOver) stream.cancel()
    else this.#stream = stream
    stream.hold(this.#isHeld)
  }

  #receive(bytes: Buffer, renew: () => boolean): void {
    const pieces = piecesOf(bytes)
    if (pieces.length > 1) void this.#readInTurns(pieces, renew)
    else this.#read(() => this.#method.response.decode(bytes), renew)
  }

  /** Reads the pieces of a large response in several turns of the event loop, and nothing that
   *  comes after it meanwhile. */
  async #readInTurns(pieces: readonly Buffer[], renew: () => boolean): Promise<void> {
    const stream = this.#stream
    this.#isReading = true
    stream?.hold(true)
    let head: WatchResponseMessage | undefined
    for (const [i, piece] of pieces.entries()) {
      if (i > 0) await setImmediate()
      if (this.#stream !== stream) return
      this.#read(() => {
        const part = this.#method.response.decode(piece)
        head ??= part
        const isLast = i === pieces.length - 1
        return { ...head, events: part.events, fragment: !isLast || head.fragment }
      }, renew)
    }
    if (this.#stream !== stream) return
    this.#isReading = false
    stream?.hold(this.#isHeld)
  }

  /** Sink calls are outside the `try`: what the sink throws is a bug of its own, not of etcd's. */
  #read(decode: () => WatchResponseMessage, renew: () => boolean): void {
    let response: WatchResponseMessage | undefined
    let header: ResponseHeader
    try {
      response = this.#joiner.join(decode())
      if (response === undefined) return
      header = headerFromMessage(response.header)
    } catch (error) {
      this.end(unreadable(error, this.endpoint))
      return
    }
    this.#deliver(response, header, renew)
  }

  #deliver(response: WatchResponseMessage, header: ResponseHeader, renew: () => boolean): void {
    if (response.canceled) {
      this.#refused(canceledFailure(response, this.endpoint), renew)
    } else if (response.created === this.#isCreated) {
      const what = response.created ? 'that a watch was created twice' : 'news before a watch began'
      this.end(new CacheError('source_failed', `etcd ${this.endpoint} sent ${what}`))
    } else if (response.created) {
      this.#isCreated = true
      this.#sink.created(header)
    } else if (response.events.length > 0) {
      this.#sink.changed(changesFromEvents(response.events), header)
    } else {
      this.#sink.progress(header)
    }
  }

  /** etcd has ended the watch. When it did not like the token, one more attempt is made with a new
   *  one. */
  #refused(failure: CacheError, renew: () => boolean): void {
    if (this.#isCreated || !isWatchRefused(failure) || !renew()) {
      this.end(failure)
      return
    }
    this.#dropStream()
    this.#joiner = new FragmentJoiner()
    this.#openOnce(false).catch((error: unknown) => {
      this.end(CacheError.from(error, 'source_failed'))
    })
  }

  #finish(isFault: boolean): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#dropStream()
    this.#context.finished(this, isFault)
    return true
  }

  #dropStream(): void {
    const stream = this.#stream
    this.#stream = undefined
    this.#isReading = false
    stream?.cancel()
  }
}

/** The failure of a watch that etcd has canceled. */
function canceledFailure(response: WatchResponseMessage, endpoint: string): CacheError {
  const oldest = response.compactRevision
  if (oldest > 0) {
    const text = `etcd ${endpoint}: the watch begins before the compacted revision ${oldest}`
    return new CacheError('expired', text, { oldest })
  }
  return failureFromCancel(response.cancelReason, endpoint)
}
