/** Keeps one worker's copy of the mirrors equal to them.
 *
 *  Nothing is queued beside the ring. The feeder remembers what the thread has been told, and tells
 *  it what has changed since: of a keyspace that is a revision in the history, as for a watcher.
 *  While the ring is full the thread is behind, and costs nothing. If the history does not go back
 *  to it any more, or the contents were replaced, the thread gets a snapshot.
 *
 *  ```
 *  keyspace   declared ─▶ entries, entries, ... ─▶ restored ─▶ batch, batch, ... ─▶ its state
 *  feed       progress, once nothing of its served keyspaces is left to tell
 *  ```
 *
 *  So what the thread has is always the exact contents of each keyspace at some revision, and its
 *  progress never claims more than that. */

import { allKeys, type Revision } from '@watchglass/base'
import type { KeyspaceState, MirroredKeyspace } from '@watchglass/cache'
import type { KeyValue, LeafSlice } from '@watchglass/store'
import { changesAtOnce, type Encoded, type Encoder, type ProgressFacts } from './encoder.ts'
import type { MirrorSlot, NumberedFeed } from './mirror-slots.ts'
import type { RingWriter } from './ring.ts'
import type { SlabNames } from './slabs.ts'

/** The way to a worker. */
export interface RingLink {
  readonly ring: RingWriter
  sendSlab(id: number, memory: SharedArrayBuffer): void
  /** Sends a record that is too long for the ring. */
  sendRecord(id: number, memory: SharedArrayBuffer): void
  /** Has the thread look into its ring. */
  wake(): void
}

export interface FeederOptions {
  readonly link: RingLink
  readonly encoder: Encoder
  readonly names: SlabNames
  /** By their numbers. There may be more of them later. */
  readonly slots: readonly MirrorSlot[]
  /** The way in which progress of a keyspace was last proven. */
  readonly proofOf: (keyspace: string) => string | undefined
}

/** The thread's knowledge of a keyspace, as far as it was told. */
interface Told {
  readonly keyspace: MirroredKeyspace
  readonly feed: NumberedFeed
  isDeclared: boolean
  state: KeyspaceState
  /** Which contents it has, or is being given. */
  contents: number
  /** The revision of the contents that the worker has; undefined while it has none, or is being
   *  given others. */
  position: Revision | undefined
  /** Number of changes that it has been told of the batch above. */
  passed: number
  /** The worker has some contents. */
  hasContents: boolean
  snapshot: SnapshotWalk | undefined
  /** Entries whose values have another place than it knows. */
  moved: KeyValue[]
}

interface SnapshotWalk {
  readonly revision: Revision
  readonly leaves: Iterator<LeafSlice<KeyValue>>
  /** Leaves that come next, while there is no room for them. */
  part: readonly LeafSlice<KeyValue>[]
  isBegun: boolean
}

/** Entries of a snapshot in one record: some tens of kilobytes. */
const leavesAtOnce = 16

/** Whether all is told; or there is more, but the time is over; or the ring is full. */
export type FeedOutcome = 'done' | 'more' | 'full'

export class Feeder {
  readonly #options: FeederOptions
  readonly #told = new Map<string, Told>()
  readonly #dirty = new Set<Told>()
  /** The facts that the thread was told, by the numbers of mirrors and feeds. */
  readonly #epochs: number[] = []
  readonly #compacted: Revision[] = []
  readonly #progress: (ProgressFacts | undefined)[] = []
  readonly #sent = new Set<number>()
  #retired: number[] = []
  #sentRecords = 0

  constructor(options: FeederOptions) {
    this.#options = options
    for (const slot of options.slots) this.begun(slot)
  }

  /** A mirror has begun. */
  begun({ feeds }: MirrorSlot): void {
    for (const feed of feeds) for (const one of feed.feed.keyspaces) this.#note(one, feed)
  }

  /** Something of a keyspace has changed. */
  changed(name: string): void {
    const told = this.#told.get(name)
    if (told !== undefined) this.#dirty.add(told)
    if (told?.keyspace.isDropped === false) return
    for (const { feeds } of this.#options.slots) {
      for (const feed of feeds) {
        const keyspace = feed.feed.keyspace(name)
        if (keyspace !== undefined) this.#note(keyspace, feed)
      }
    }
  }

  /** The value of an entry has another place. */
  moved(name: string, entry: KeyValue): void {
    const told = this.#told.get(name)
    // Who has nothing yet is told the new place with the contents.
    if (told?.hasContents !== true) return
    told.moved.push(entry)
    this.#dirty.add(told)
  }

  /** Nothing names a slab any more. */
  retired(slab: number): void {
    if (this.#sent.delete(slab)) this.#retired.push(slab)
  }

  /** Tells what there is to tell, until the ring is full or the time is over, and wakes the
   *  thread. */
  run(isOver: () => boolean): FeedOutcome {
    const outcome = this.#tellAll(isOver)
    const { link } = this.#options
    // A thread that has read everything sleeps on: being woken for nothing costs it a message and a
    // turn.
    if (link.ring.isPending && link.ring.takeSleeper()) link.wake()
    return outcome
  }

  #tellAll(isOver: () => boolean): FeedOutcome {
    if (!this.#tellFacts()) return 'full'
    const outcome = this.#tellDirty(isOver, false)
    if (outcome !== 'done') return outcome
    if (!this.#tellProgress()) return 'full'
    // Contents that the thread does not serve yet: reads of all others do not wait for them.
    return this.#tellDirty(isOver, true)
  }

  #tellDirty(isOver: () => boolean, isNew: boolean): FeedOutcome {
    for (const told of this.#dirty) {
      if (isNew !== isUnknown(told)) continue
      const outcome = this.#tellKeyspace(told, isOver)
      if (outcome !== 'done') return outcome
      this.#dirty.delete(told)
      if (isOver()) return 'more'
    }
    return 'done'
  }

  /** Epochs first: nothing else of a mirror is told in the wrong one. */
  #tellFacts(): boolean {
    const { slots, encoder } = this.#options
    for (const slot of slots) {
      const { id, epoch: number, mirror } = slot
      if (this.#epochs[id] !== number) {
        const expiredThrough = mirror?.epochs.expiredThrough ?? noRevision
        if (!this.#write(encoder.epoch(id, { number, expiredThrough }))) return false
        this.#epochs[id] = number
        this.#compacted[id] = noRevision
        this.#startEpoch(slot)
      }
      const compactRevision = mirror?.compactRevision ?? noRevision
      if (this.#compacted[id] === compactRevision) continue
      if (!this.#write(encoder.compacted(id, compactRevision))) return false
      this.#compacted[id] = compactRevision
    }
    if (this.#retired.length > 0) {
      if (!this.#write(encoder.retired(this.#retired))) return false
      this.#retired = []
    }
    return true
  }

  /** The thread drops all contents of the mirror by itself. */
  #startEpoch({ feeds }: MirrorSlot): void {
    for (const { id, feed, slot } of feeds) {
      this.#progress[id] = undefined
      for (const { name } of feed.keyspaces) {
        const told = this.#told.get(name)
        if (told?.feed.slot !== slot) continue
        Object.assign(told, { ...nothing, isDeclared: told.isDeclared, moved: [] })
        this.#dirty.add(told)
      }
    }
  }

  #tellKeyspace(told: Told, isOver: () => boolean): FeedOutcome {
    const { keyspace, feed } = told
    const { encoder } = this.#options
    if (keyspace.isDropped) {
      if (told.isDeclared && !this.#write(encoder.dropped(keyspace))) return 'full'
      if (this.#told.get(keyspace.name) === told) this.#told.delete(keyspace.name)
      return 'done'
    }
    if (!told.isDeclared) {
      if (!this.#write(encoder.keyspace(keyspace, feed.id))) return 'full'
      told.isDeclared = true
    }
    if (!keyspace.isServed && !this.#tellState(told)) return 'full'
    if (told.contents !== keyspace.contents) {
      if (!keyspace.isRestored && told.hasContents && !this.#tellCleared(told)) return 'full'
      told.position = undefined
      told.passed = 0
      told.snapshot = undefined
      told.moved = []
      told.contents = keyspace.contents
    }
    if (!keyspace.isRestored) return 'done'
    const outcome = this.#tellContents(told, isOver)
    if (outcome !== 'done') return outcome
    if (!this.#tellMoved(told)) return 'full'
    return this.#tellState(told) ? 'done' : 'full'
  }

  #tellState(told: Told): boolean {
    const { state } = told.keyspace
    if (told.state === state) return true
    if (!this.#write(this.#options.encoder.state(told.keyspace, state))) return false
    told.state = state
    return true
  }

  #tellCleared(told: Told): boolean {
    const reason = told.keyspace.state === 'suspect' ? 'distrusted' : 'new epoch'
    if (!this.#write(this.#options.encoder.cleared(told.keyspace, reason))) return false
    told.hasContents = false
    return true
  }

  /** A snapshot, if the history does not lead from what the thread has to what there is; and then
   *  the history. */
  #tellContents(told: Told, isOver: () => boolean): FeedOutcome {
    const { keyspace } = told
    for (;;) {
      if (told.position === undefined) {
        const outcome = this.#tellSnapshot(told, isOver)
        if (outcome !== 'done') return outcome
      }
      const batch = keyspace.store.next(told.position!)
      if (batch === undefined) return 'done'
      if (batch === 'expired') {
        told.position = undefined
        told.passed = 0
        told.snapshot = undefined
        continue
      }
      if (!this.#write(this.#options.encoder.changes(keyspace, batch, told.passed))) return 'full'
      told.passed += changesAtOnce
      if (told.passed >= batch.events.length) {
        told.position = batch.revision
        told.passed = 0
      }
      if (isOver()) return 'more'
    }
  }

  #tellMoved(told: Told): boolean {
    while (told.moved.length > 0) {
      const some = told.moved.slice(-movedAtOnce)
      if (!this.#write(this.#options.encoder.moved(told.keyspace, some))) return false
      told.moved.length -= some.length
    }
    return true
  }

  #tellSnapshot(told: Told, isOver: () => boolean): FeedOutcome {
    const { encoder } = this.#options
    const walk = (told.snapshot ??= walkOf(told.keyspace))
    for (;;) {
      if (walk.part.length === 0) walk.part = take(walk.leaves, leavesAtOnce)
      if (walk.part.length === 0 && walk.isBegun) break
      if (!this.#write(encoder.entries(told.keyspace, walk.part, !walk.isBegun))) return 'full'
      walk.part = []
      walk.isBegun = true
      if (isOver()) return 'more'
    }
    if (!this.#write(encoder.restored(told.keyspace, walk.revision))) return 'full'
    told.position = walk.revision
    told.hasContents = true
    told.snapshot = undefined
    return 'done'
  }

  #tellProgress(): boolean {
    for (const { feeds, mirror } of this.#options.slots) {
      for (const { feed, id } of feeds) {
        const told = this.#progress[id]
        const { trust } = feed
        const { revision } = feed.progress
        if (told?.trust === trust && revision <= told.revision) continue
        const witnessed = mirror?.epochs.witnessed ?? noRevision
        const facts = { revision, witnessed, trust, proof: this.#proofOf(feed) }
        if (!this.#write(this.#options.encoder.progress(id, facts))) return false
        this.#progress[id] = facts
      }
    }
    return true
  }

  /** A feed has one keyspace where there are several ways. */
  #proofOf({ keyspaces }: NumberedFeed['feed']): string | undefined {
    for (const { name } of keyspaces) return this.#options.proofOf(name)
    return undefined
  }

  /** False if there is no room. */
  #write({ bytes, slabs }: Encoded): boolean {
    const { link, names, encoder } = this.#options
    const isLong = bytes.length > link.ring.recordMaxBytes
    if (!link.ring.hasRoom(isLong ? elsewhereMaxBytes : bytes.length)) return false
    for (const slab of slabs) {
      if (this.#sent.has(slab)) continue
      const memory = names.memoryOf(slab)
      if (memory === undefined) throw new Error(`slab ${slab} is named, but gone`)
      this.#sent.add(slab)
      link.sendSlab(slab, memory)
    }
    if (isLong) {
      const memory = new SharedArrayBuffer(bytes.length)
      Buffer.from(memory).fill(bytes)
      const id = ++this.#sentRecords
      link.sendRecord(id, memory)
      link.ring.append(encoder.elsewhere(id).bytes)
    } else link.ring.append(bytes)
    return true
  }

  #note(keyspace: MirroredKeyspace, feed: NumberedFeed): void {
    const told: Told = { ...nothing, keyspace, feed, moved: [] }
    this.#told.set(keyspace.name, told)
    this.#dirty.add(told)
  }
}

const elsewhereMaxBytes = 16
const noRevision = 0 as Revision

/** Entries in one record. */
const movedAtOnce = 100

/** The beginning of a keyspace in a thread: nothing. */
const nothing: Omit<Told, 'keyspace' | 'feed' | 'moved'> = {
  isDeclared: false,
  state: 'starting',
  contents: 0,
  position: undefined,
  passed: 0,
  hasContents: false,
  snapshot: undefined,
}

/** The thread has nothing of a keyspace that has contents. */
function isUnknown({ keyspace, hasContents }: Told): boolean {
  return keyspace.isRestored && !hasContents
}

function walkOf({ store }: MirroredKeyspace): SnapshotWalk {
  const snapshot = store.latest()
  const leaves = snapshot.leaves(allKeys)[Symbol.iterator]()
  return { revision: snapshot.revision, leaves, part: [], isBegun: false }
}

function take<T>(items: Iterator<T>, max: number): T[] {
  const taken: T[] = []
  while (taken.length < max) {
    const { done, value } = items.next()
    if (done === true) break
    taken.push(value)
  }
  return taken
}
