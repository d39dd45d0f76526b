/** Watch streams at etcd, each with one watcher, for what the mirror does not have. */

import { CacheError, type CancelTimer, type Clock } from '@watchglass/base'
import {
  EtcdError,
  failureByText,
  messagePrefix,
  MessageReader,
  piecesOf,
  type WatchCreateMessage,
  watchRequestCodec,
  watchResponseCodec,
} from '@watchglass/etcd'
import type {
  ElsewhereStreams,
  ElsewhereSink,
  ElsewhereWatch,
  UnreadEvents,
} from '../engine/watches/batch-source.ts'
import { eventsOf } from '../engine/watches/large-response.ts'
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
  #isReading = false
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
    this.#read()
    if (!this.#isPaused) this.#stream?.resume()
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
    this.#reader.push(chunk)
    this.#read()
  }

  /** Delivers what has come, until it is held back. */
  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    while (!this.#isPaused && !this.#isOver) {
      const next = this.#reader.next()
      if (typeof next !== 'object') break
      this.#deliver(next.bytes)
    }
    this.#isReading = false
  }

  #deliver(message: Buffer): void {
    const { sink, answered } = this.#ends
    let response
    let rest
    try {
      const [first = message, ...pieces] = piecesOf(message)
      response = watchResponseCodec.decode(first)
      rest = unreadOf(pieces)
    } catch (error) {
      this.#end(CacheError.from(error, 'source_failed'))
      return
    }
    answered.told(response.header?.revision ?? 0)
    if (response.events.length === 0 && !response.created) this.#cancelTimer?.()
    sink.received(response, rest)
  }

  #end(failure: CacheError): void {
    if (this.#isOver) return
    this.close()
    this.#ends.sink.failed(failure)
  }
}

/** The events in these pieces, of which the last says up to where they are. */
function unreadOf(pieces: readonly Buffer[]): UnreadEvents | undefined {
  const last = pieces.at(-1)
  const event = last && eventsOf(last).at(-1)
  return event && { pieces, lastRevision: event.revision }
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
