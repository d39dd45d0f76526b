/** Batches as the streams of a server tell their watchers of them: what is made for one watcher is
 *  there for the others. */

import type { Batch } from '@watchglass/store'
import { BatchEvents } from './batch-events.ts'
import { createKeptChunks } from './kept-chunks.ts'
import { LargeBatch } from './large-batch.ts'

export class SharedBatches {
  readonly #kept = createKeptChunks()
  readonly #large = new WeakMap<Batch, LargeBatch>()
  /** The batch that was asked for last: streams that are a little behind are so together. */
  #last: { readonly batch: Batch; readonly events: BatchEvents } | undefined

  eventsOf(batch: Batch): BatchEvents {
    if (this.#last?.batch !== batch) this.#last = { batch, events: new BatchEvents(batch) }
    return this.#last.events
  }

  largeOf(batch: Batch): LargeBatch {
    let large = this.#large.get(batch)
    if (large === undefined) {
      large = new LargeBatch(batch, this.#kept)
      this.#large.set(batch, large)
    }
    return large
  }
}
