/** The events of a batch as watchers are told of them: made, and encoded, once for all who want
 *  them. */

import type { Revision } from '@watchglass/base'
import type { Batch, Event } from '@watchglass/store'
import { KeptEvent } from './kept-event.ts'
import { isLarge } from './large-batch.ts'

/** The work for which a batch is told in the step in which it is applied, in events that are looked
 *  at for a watcher: some 5 ms. Further watchers are behind, and are told in turns. */
const workMax = 100_000
/** The work of sending a response, and each of its events, beside. */
const responseWork = 200
const eventWork = 5

export class BatchEvents {
  readonly revision: Revision
  readonly events: readonly Event[]
  /** Its watchers are told in steps. */
  readonly isLarge: boolean
  #work = 0
  #plain: (KeptEvent | undefined)[] = []
  #withPrevious: (KeptEvent | undefined)[] = []

  constructor(batch: Batch) {
    this.revision = batch.revision
    this.events = batch.events
    this.isLarge = isLarge(batch)
  }

  /** Whether another watcher may be told of it in this step. */
  get hasTime(): boolean {
    return !this.isLarge && this.#work < workMax
  }

  /** Notes that a watcher was told so many events of it. */
  told(events: number): void {
    this.#work += this.events.length + (events > 0 ? responseWork + events * eventWork : 0)
  }

  /** The event of that number, without what was there before. */
  plain(i: number): KeptEvent {
    return (this.#plain[i] ??= this.#make(i, false))
  }

  /** The event of that number, with what was there before. */
  withPrevious(i: number): KeptEvent {
    return (this.#withPrevious[i] ??= this.#make(i, true))
  }

  #make(i: number, hasPrevious: boolean): KeptEvent {
    const { key, before, after } = this.events[i]!
    const previous = hasPrevious ? before : undefined
    return new KeptEvent({ key, revision: this.revision, after, previous })
  }
}
