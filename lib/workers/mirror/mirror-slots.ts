/** The mirrors by the numbers that threads know them by, in the thread that has them.
 *
 *  The mirrors of etcds are there from the start to the end. Those of a Kubernetes API begin when
 *  somebody reads a resource, end, and begin anew. A later mirror takes the number of one that has
 *  ended, and its epochs go on from those of that one: a thread that has not heard of it yet waits,
 *  as it does for any epoch that it has not heard of. */

import { assert } from '@watchglass/base'
import type { Feed, Mirror, OwnMirrors } from '@watchglass/cache'
import type { MirrorLayout } from './facts.ts'
import { createSeenRevisions, SeenRevisions } from './seen-revisions.ts'

/** Mirrors that begin on demand: as many resources as no cluster has. What is above passes.
 *  Memory that is never written to is not taken. */
const onDemandMax = 16_384

/** A feed, and its number for the threads. */
export interface NumberedFeed {
  readonly feed: Feed
  readonly id: number
  readonly slot: MirrorSlot
}

/** A number, and the mirror that has it. */
export class MirrorSlot {
  readonly id: number
  readonly #firstFeed: number
  /** The last epoch of the mirrors before this one. */
  #epochsBefore = 0
  #mirror: Mirror | undefined = undefined
  #feeds: readonly NumberedFeed[] = []

  constructor(id: number, firstFeed: number) {
    this.id = id
    this.#firstFeed = firstFeed
  }

  /** Undefined while no mirror has the number. */
  get mirror(): Mirror | undefined {
    return this.#mirror
  }

  get feeds(): readonly NumberedFeed[] {
    return this.#feeds
  }

  /** The number of the epoch for the threads, which rises with each mirror, too. */
  get epoch(): number {
    return this.#epochsBefore + (this.#mirror?.epochs.number ?? 0)
  }

  take(mirror: Mirror): void {
    this.#mirror = mirror
    this.#feeds = mirror.feeds.map((feed, i) => ({ feed, id: this.#firstFeed + i, slot: this }))
  }

  /** Ends the last epoch of the mirror: threads show nothing of it any more. */
  release(): void {
    this.#epochsBefore = this.epoch + 1
    this.#mirror = undefined
    this.#feeds = []
  }
}

export class MirrorSlots {
  /** The ranges of the mirrors that are there from the start; undefined where they begin on
   *  demand. */
  readonly layout: MirrorLayout | undefined
  readonly seen: SharedArrayBuffer
  readonly mirrorsMax: number
  /** Every slot that was ever taken, by its number. */
  readonly all: MirrorSlot[] = []
  readonly #mirrors: OwnMirrors
  readonly #words: SeenRevisions
  readonly #taken = new Map<Mirror, MirrorSlot>()
  readonly #free: MirrorSlot[] = []
  readonly #feeds: (MirrorSlot | undefined)[] = []

  constructor(mirrors: OwnMirrors) {
    this.#mirrors = mirrors
    if (!mirrors.isOnDemand) {
      this.layout = mirrors.mirrors.map(({ feeds }) => feeds.map(({ range }) => range))
    }
    this.mirrorsMax = this.layout?.length ?? onDemandMax
    this.seen = createSeenRevisions(this.mirrorsMax, this.layout?.flat().length ?? onDemandMax)
    this.#words = new SeenRevisions(this.seen, this.mirrorsMax)
  }

  feed(id: number): NumberedFeed | undefined {
    return this.#feeds[id]?.feeds.find(feed => feed.id === id)
  }

  /** Looks which mirrors there are, and which epochs they have. Returns the slots of those that
   *  have begun. */
  update(): readonly MirrorSlot[] {
    const present = new Set(this.#mirrors.mirrors)
    for (const [mirror, slot] of this.#taken) {
      if (present.has(mirror)) continue
      this.#taken.delete(mirror)
      slot.release()
      this.#free.push(slot)
    }
    const begun: MirrorSlot[] = []
    for (const mirror of present) {
      if (this.#taken.has(mirror)) continue
      const slot = this.#free.shift() ?? this.#create(mirror)
      if (slot === undefined) break
      slot.take(mirror)
      this.#taken.set(mirror, slot)
      begun.push(slot)
    }
    for (const { id, epoch, feeds } of this.all) {
      if (this.#words.epoch(id) === epoch) continue
      this.#words.startEpoch(
        id,
        epoch,
        feeds.map(feed => feed.id),
      )
    }
    return begun
  }

  #create({ feeds }: Mirror): MirrorSlot | undefined {
    const id = this.all.length
    if (id >= this.mirrorsMax) return undefined
    // Who has not heard of a mirror knows its feed by the number of that.
    if (this.layout === undefined) assert(feeds.length === 1, 'a mirror on demand has one feed')
    const slot = new MirrorSlot(id, this.#feeds.length)
    this.all.push(slot)
    for (let i = 0; i < feeds.length; i++) this.#feeds.push(slot)
    return slot
  }
}
