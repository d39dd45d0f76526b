/** Watch streams at etcd, each with one watcher, for what the mirror does not have. */

import { CacheError, type CancelTimer, type Clock } from '@watchglass/base'
import {
  EtcdError,
  failureByText,
  messagePrefix,
  MessageReader,
  type WatchCreateMessage,
  watchRequestCodec,
  watchResponseCodec,
} from '@watchglass/etcd'
import type {
  ElsewhereStreams,
  ElsewhereSink,
  ElsewhereWatch,
} from '../engine/watches/batch-source.ts'
import type { EtcdSessions } from '../pass/etcd-sessions.ts'
import type { StreamPace } from '../pass/stream-pace.ts'
import { type EtcdStream, openEtcdStream } from '../pass/etcd-stream.ts'
import type { AnsweredRevisions } from './answered-revisions.ts'

const path = '/etcdserverpb.Watch/Watch'
const progressRequest = framed(
  watchRequestCodec.encode({ request: { type: 'progress', value: {} } }),
)

export interface EtcdWatchesOptions {
  readonly sessions: EtcdSessions
  /** Pace of the streams of all clients. */
  readonly pace: StreamPace
  readonly answered: AnsweredRevisions
  readonly clock: Clock
}

export class EtcdWatches implements ElsewhereStreams {
  readonly #options: EtcdWatchesOptions
  readonly #requiresLeader: boolean

  constructor(options: EtcdWatchesOptions, requiresLeader: boolean) {
    this.#options = options
    this.#requiresLeader = requiresLeader
  }

  open(request: WatchCreateMessage, sink: ElsewhereSink): ElsewhereWatch {
    const create = watchRequestCodec.encode({ request: { type: 'create', value: request } })
    const headers = this.#requiresLeader ? { hasleader: 'true' } : {}
    const { sessions, pace, answered, clock } = this.#options
    const watch = new EtcdWatch(framed(create), { sink, answered, clock })
    pace.next(this, () => watch.begin(() => openEtcdStream(sessions, path, headers)))
    return watch
  }
}

interface Ends {
  readonly sink: ElsewhereSink
  readonly answered: AnsweredRevisions
  readonly clock: Clock
}

/** etcd drops a request for progress while the watcher has not caught up, which it does in
 *  rounds of this length. */
const askEvery = { firstMs: 100, maxMs: 1000 }

class EtcdWatch implements ElsewhereWatch {
  readonly #ends: Ends
  readonly #create: Buffer
  readonly #reader = new MessageReader(Infinity)
  #stream: EtcdStream | undefined
  #cancelTimer: CancelTimer | undefined
  #isPaused = false
  #isOver = false

  constructor(create: Buffer, ends: Ends) {
    this.#create = create
    this.#ends = ends
  }

  /** Opens the stream, unless the watch is over already. */
  begin(open: () => Promise<EtcdStream>): void {
    if (this.#isOver) return
    open().then(
      stream => this.#begin(stream),
      (error: unknown) => this.#end(CacheError.from(error, 'source_failed')),
    )
  }

  /** Asks until it is told. */
  askProgress(): void {
    this.#cancelTimer?.()
    this.#askAgain(askEvery.firstMs)
  }

  pause(): void {
    this.#isPaused = true
    this.#stream?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#stream?.resume()
  }

  get heldBytes(): number {
    return this.#reader.heldBytes + (this.#stream?.heldBytes ?? 0)
  }

  close(): void {
    this.#isOver = true
    this.#cancelTimer?.()
    this.#stream?.cancel()
  }

  #askAgain(delayMs: number): void {
    this.#stream?.write(progressRequest)
    this.#cancelTimer = this.#ends.clock.setTimer(delayMs, () => {
      this.#askAgain(Math.min(2 * delayMs, askEvery.maxMs))
    })
  }

  #begin(stream: EtcdStream): void {
    if (this.#isOver) {
      stream.cancel()
      return
    }
    this.#stream = stream
    stream.onData(chunk => this.#take(chunk))
    stream.onEnd(({ details }) => this.#end(failureOf(details)))
    stream.write(this.#create)
    if (this.#isPaused) stream.pause()
  }

  #take(chunk: Buffer): void {
    const { sink, answered } = this.#ends
    this.#reader.push(chunk)
    for (let next = this.#reader.next(); next !== undefined; next = this.#reader.next()) {
      if (this.#isOver || typeof next === 'number') return
      let response
      try {
        response = watchResponseCodec.decode(next.bytes)
      } catch (error) {
        this.#end(CacheError.from(error, 'source_failed'))
        return
      }
      answered.told(response.header?.revision ?? 0)
      if (response.events.length === 0 && !response.created) this.#cancelTimer?.()
      sink.received(response)
    }
  }

  #end(failure: CacheError): void {
    if (this.#isOver) return
    this.close()
    this.#ends.sink.failed(failure)
  }
}

/** etcd's own failure where it has a name, for the client to see as it is. */
function failureOf(details: string): CacheError {
  const reason = failureByText(details)
  if (reason !== undefined) return new EtcdError(reason)
  return new CacheError('source_failed', `the watch at etcd has ended: ${details}`)
}

function framed(message: Buffer): Buffer {
  return Buffer.concat([messagePrefix(message.length), message])
}
