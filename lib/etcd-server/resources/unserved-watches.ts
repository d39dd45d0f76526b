/** The watchers that no part serves. Those of a resource that is not mirrored yet are created when
 *  it is, and served by its part then; those whose start the history does not reach are told so;
 *  all others are refused, with the reason. */

import { CacheError, type Revision } from '@watchglass/base'
import { noWatchId, type WatchCreateMessage, type WatchResponseMessage } from '@watchglass/etcd'
import type {
  ElsewhereSink,
  ElsewhereStreams,
  ElsewhereWatch,
} from '../engine/watches/batch-source.ts'
import { watchedRange } from '../engine/watches/stream-watcher.ts'
import type { ApiResources } from './api-resources.ts'

export class UnservedWatches implements ElsewhereStreams {
  readonly #resources: ApiResources
  readonly #onFault: (error: unknown) => void

  constructor(resources: ApiResources, onFault: (error: unknown) => void) {
    this.#resources = resources
    this.#onFault = onFault
  }

  open(request: WatchCreateMessage, sink: ElsewhereSink): ElsewhereWatch {
    const closed = new AbortController()
    this.#answer(request, sink, closed.signal).catch(this.#onFault)
    return {
      askProgress() {},
      pause() {},
      resume() {},
      close: () => closed.abort(),
      heldBytes: 0,
    }
  }

  async #answer(
    request: WatchCreateMessage,
    sink: ElsewhereSink,
    closed: AbortSignal,
  ): Promise<void> {
    const { startRevision } = request
    const refuse = (cancelReason: string): void =>
      sink.received(this.#response(0, { created: true, canceled: true, cancelReason }))
    // Nothing is delivered before `open` returns.
    await Promise.resolve()
    if (startRevision < 0) return refuse('etcdserver: mvcc: required revision has been compacted')
    try {
      const part = await this.#resources.served(watchedRange(request), () => closed)
      if (closed.aborted) return
      // From here on the part serves it, if its history reaches so far.
      sink.received(this.#response(part.proven, { created: true }))
      const oldest = (part.store.oldest + 1) as Revision
      if (closed.aborted || startRevision === 0 || startRevision >= oldest) return
      sink.received(this.#response(0, { canceled: true, compactRevision: oldest }))
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      if (!closed.aborted) refuse(error.message)
    }
  }

  #response(revision: number, fields: Partial<WatchResponseMessage>): WatchResponseMessage {
    return {
      header: this.#resources.header(revision),
      watchId: noWatchId,
      created: false,
      canceled: false,
      compactRevision: 0,
      cancelReason: '',
      fragment: false,
      events: [],
      ...fields,
    }
  }
}
