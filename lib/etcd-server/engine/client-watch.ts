/** One watch of a client in process: a stream of its own to one member. */

import { CacheError } from '@watchglass/base'
import type { Change } from '@watchglass/store'
import {
  changesFromEvents,
  EtcdError,
  headerFromMessage,
  messageFromWatch,
  type WatchRequest,
  type WatchResponseMessage,
  type WatchSink,
  type WatchStream,
} from '@watchglass/etcd'
import type { EngineMember } from './member.ts'
import type { MemberLink, Network } from './network.ts'
import type { ResponsePart } from './watches/response-part.ts'
import type { WatcherStream } from './watches/watcher-stream.ts'

export interface EngineWatchContext {
  readonly client: string
  readonly member: EngineMember
  readonly network: Network
  /** The stream has ended in whatever way; with `isFault` when it was the member's or the
   *  network's. */
  finished(stream: EngineWatchStream, isFault: boolean): void
}

export class EngineWatchStream implements WatchStream {
  readonly #context: EngineWatchContext
  readonly #sink: WatchSink
  #link: MemberLink | undefined
  /** The other end, once it has heard of us. */
  #stream: WatcherStream | undefined
  #isCreated = false
  /** Changes of a revision that is not whole yet. */
  #changes: Change[] = []
  #isOver = false

  constructor(context: EngineWatchContext, sink: WatchSink) {
    this.#context = context
    this.#sink = sink
  }

  get endpoint(): string {
    return this.#context.member.endpoint
  }

  /** Opens the stream. Nothing is delivered before it returns. */
  open(request: WatchRequest): void {
    const { client, member, network } = this.#context
    const link = network.connect({
      client,
      member,
      kind: 'stream',
      lostByClient: failure => this.#end(failure),
      lostByMember: () => this.#stream?.close(),
    })
    this.#link = link
    const { request: create } = messageFromWatch(request)
    link.toMember(() => {
      const deliver = (response: WatchResponseMessage): void => this.#deliver(response)
      this.#stream = member.openWatch(
        {
          send: response => {
            link.toClient(() => deliver(response))
            return true
          },
          sendPart: part => {
            link.toClient(() => this.#deliverPart(part))
            return true
          },
          sendFirst: response => link.toClientFirst(() => deliver(response)),
          end: failure => link.toClient(() => this.#end(failure)),
        },
        { requiresLeader: true },
      )
      // There is no message limit here that fragments would be for.
      if (create?.type === 'create') {
        this.#stream.handle({ type: 'create', value: { ...create.value, fragment: false } })
      }
    })
  }

  /** Ends a stream without having asked anybody, once the caller has it in hand. */
  refuse(failure: CacheError): void {
    queueMicrotask(() => this.#end(failure))
  }

  requestProgress(): void {
    // Before the watcher is created there is nothing to be in sync with.
    if (!this.#isCreated || this.#isOver) return
    this.#link?.toMember(() => this.#stream?.handle({ type: 'progress', value: {} }))
  }

  cancel(): void {
    this.#finish(false)
  }

  #deliver(response: WatchResponseMessage): void {
    if (this.#isOver) return
    const { header, events, canceled, created } = response
    if (canceled) this.#end(canceledFailure(response))
    else if (created) {
      this.#isCreated = true
      this.#sink.created(headerFromMessage(header))
    } else if (events.length > 0) {
      this.#sink.changed(changesFromEvents(events), headerFromMessage(header))
    } else this.#sink.progress(headerFromMessage(header))
  }

  /** The changes of one revision come in parts, of which the last is delivered with all before. */
  #deliverPart({ response, events, isLast }: ResponsePart): void {
    if (this.#isOver) return
    const [batch] = changesFromEvents(events())
    this.#changes.push(...(batch?.changes ?? []))
    if (batch === undefined || !isLast) return
    const changes = this.#changes
    this.#changes = []
    this.#sink.changed([{ ...batch, changes }], headerFromMessage(response.header))
  }

  #end(failure: CacheError): void {
    if (this.#finish(failure.code === 'source_failed')) this.#sink.ended(failure)
  }

  #finish(isFault: boolean): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#context.finished(this, isFault)
    this.#link?.close()
    return true
  }
}

/** The failure of a watch that the member has canceled. */
function canceledFailure({ compactRevision, cancelReason }: WatchResponseMessage): CacheError {
  if (compactRevision > 0) return new EtcdError('compacted', { oldest: compactRevision })
  return new CacheError('invalid_request', `the engine has canceled the watch: ${cancelReason}`)
}
