/** Packs the values of all keyspaces when enough has been written since the last time: in slices,
 *  between other work. */

import { type Clock, type Key, type Logger, Slice } from '@watchglass/base'
import { type Batch, type KeyValue, packSlabs, slabBytes, type Snapshot } from '@watchglass/store'
import type { Follower } from './followers.ts'

/** Below this, packing is not worth a walk. It is also about what a small cluster keeps in memory
 *  for nothing: with 8 MiB the process of a quiet one grew for half an hour. */
const writtenMinBytes = 4 * slabBytes
/** The length of a slice: after it other work has its turn. */
const sliceMs = 1

export interface SlabKeeperOptions {
  /** The newest contents of every keyspace. */
  readonly latest: () => Iterable<Snapshot>
  readonly clock: Clock
  readonly logger: Logger
  /** Called for each entry whose value has another place: copies of it in other threads still have
   *  the old one. */
  readonly onMoved?: ((entry: KeyValue) => void) | undefined
}

export class SlabKeeper implements Follower {
  readonly #latest: () => Iterable<Snapshot>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #onMoved: (entry: KeyValue) => void
  #writtenBytes = 0
  #dueBytes = writtenMinBytes
  #isPacking = false

  constructor({ latest, clock, logger, onMoved = () => {} }: SlabKeeperOptions) {
    this.#latest = latest
    this.#clock = clock
    this.#logger = logger
    this.#onMoved = onMoved
  }

  applied(_keyspace: Key, { events }: Batch): void {
    for (const { after } of events) if (after !== undefined) this.#writtenBytes += after.valueLength
    if (this.#writtenBytes < this.#dueBytes || this.#isPacking) return
    this.#isPacking = true
    void this.#pack()
  }

  async #pack(): Promise<void> {
    this.#writtenBytes = 0
    const packing = packSlabs(this.#latest, this.#onMoved)
    const slice = new Slice(this.#clock, sliceMs)
    let step = packing.next()
    while (step.done !== true) {
      await slice.next()
      do step = packing.next()
      while (step.done !== true && !slice.isOver)
    }
    const { valueBytes, movedBytes } = step.value
    // As much as there is must have been written anew: so a walk costs each write a constant.
    this.#dueBytes = Math.max(writtenMinBytes, valueBytes)
    this.#logger.debug('packed stored values to free memory', { valueBytes, movedBytes })
    this.#isPacking = false
  }
}
