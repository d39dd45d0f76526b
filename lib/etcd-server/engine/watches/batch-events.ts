/** The events of a batch as watchers are told of them: made, and encoded, once for all who want
 *  them. */

import type { Revision } from '@watchglass/base'
import type { Batch, Event } from '@watchglass/store'
import { KeptEvent } from './kept-event.ts'

export class BatchEvents {
  readonly revision: Revision
  readonly events: readonly Event[]
  #plain: (KeptEvent | undefined)[] = []
  #withPrevious: (KeptEvent | undefined)[] = []

  constructor({ revision, events }: Batch) {
    this.revision = revision
    this.events = events
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
