/** Follows a keyspace with something that is made of its rows and kept, but only when that is asked
 *  for. So nothing that a client asks for makes a change of the mirror take longer, and what nobody
 *  asks for costs its memory only.
 *
 *  ```
 *  nothing ─▶ being built of a snapshot ─▶ at its revision ─▶ at a later one, batch by batch
 *      ▲                                        │ the history has gone on
 *      └────────────────────────────────────────┘
 *  ```
 *
 *  Work is done by whoever waits, in steps that may be taken in turns: several that wait for the
 *  same thing each do a part of it. */

import { CacheError, notedEffort, type NotExact, type Revision, type Steps } from '@watchglass/base'
import type { Batch, Event, Keyspace, Snapshot } from '@watchglass/store'

/** The part of a keyspace that is followed. */
export type FollowedStore = Pick<Keyspace, 'latest' | 'since' | 'revision'>

/** Why something cannot be kept: an object that cannot be read exactly, or too many groups. */
export type FoldProblem = NotExact | 'too-many-groups'

/** The rows of a keyspace, folded into something. */
export interface RowFold {
  /** Makes all of it anew. */
  build(snapshot: Snapshot): Steps<FoldProblem | undefined>
  /** Takes a change over. Nothing of it is shown before `endBatch`. */
  change(event: Event): FoldProblem | undefined
  /** Shows the changes since the last call, which were all of one revision. */
  endBatch(): void
}

/** Changes that are taken over in one step, if none is much work. */
const changesAtOnce = 64
/** The effort after which a step ends: about a millisecond. */
const stepEffort = 1_000

export class StoreFollower {
  readonly #store: FollowedStore
  readonly #fold: RowFold
  #building: Steps<FoldProblem | undefined> | undefined
  /** The revision of the snapshot that is being read. */
  #begunAt: Revision | undefined
  #revision: Revision | undefined
  #batches: Iterator<Batch> | undefined
  #batch: Batch | undefined
  #nextEvent = 0

  constructor(store: FollowedStore, fold: RowFold) {
    this.#store = store
    this.#fold = fold
  }

  /** The revision that what was made is of; undefined while it is being built. */
  get revision(): Revision | undefined {
    return this.#revision
  }

  /** Does a step of work. 'there' once it is at the revision or a later one, which it can be told
   *  by `revision`; 'expired' if the history did not hold what came since, and all begins anew with
   *  the next call. */
  step(to: Revision): 'there' | 'more' | 'expired' | FoldProblem {
    // After a restore to another history, revisions go back.
    if ((this.#revision ?? 0) > this.#store.revision) return this.#restart()
    if (this.#revision === undefined) return this.#build()
    if (this.#revision >= to) return 'there'
    try {
      return this.#follow(this.#revision, to)
    } catch (error) {
      if (error instanceof CacheError && error.code === 'expired') return this.#restart()
      throw error
    }
  }

  /** Forgets everything: the next step begins anew. */
  #restart(): 'expired' {
    this.#building = undefined
    this.#begunAt = undefined
    this.#revision = undefined
    this.#batches = undefined
    this.#batch = undefined
    return 'expired'
  }

  #build(): 'more' | FoldProblem {
    if (this.#building === undefined) {
      const snapshot = this.#store.latest()
      this.#building = this.#fold.build(snapshot)
      this.#begunAt = snapshot.revision
    }
    const { done, value } = this.#building.next()
    if (done !== true) return 'more'
    const begunAt = this.#begunAt
    this.#restart()
    if (value !== undefined) return value
    this.#revision = begunAt
    return 'more'
  }

  #follow(from: Revision, to: Revision): 'there' | 'more' | 'expired' | FoldProblem {
    const begunAt = notedEffort()
    for (let changes = 0; changes < changesAtOnce && notedEffort() - begunAt < stepEffort;) {
      this.#batch ??= this.#nextBatch(from, to)
      const batch = this.#batch
      if (batch === undefined) {
        this.#revision = to
        return 'there'
      }
      const { events } = batch
      const event = events[this.#nextEvent]
      if (event === undefined) {
        this.#fold.endBatch()
        this.#revision = batch.revision
        this.#batch = undefined
        if (batch.revision >= to) return 'there'
        continue
      }
      const problem = this.#fold.change(event)
      if (problem !== undefined) {
        this.#restart()
        return problem
      }
      this.#nextEvent++
      changes++
    }
    return 'more'
  }

  /** The next batch up to a revision. The one after it stays for the next call. */
  #nextBatch(from: Revision, to: Revision): Batch | undefined {
    if (this.#batches === undefined) {
      const since = this.#store.since(this.#revision ?? from)
      if (since === 'expired') throw new CacheError('expired', 'the history has gone on')
      this.#batches = since[Symbol.iterator]()
    }
    const next = this.#batches.next()
    // A walk that has ended finds nothing that comes later, and one that went too far begins anew.
    if (next.done === true || next.value.revision > to) {
      this.#batches = undefined
      return undefined
    }
    this.#nextEvent = 0
    return next.value
  }
}

/** Brings it up to the latest contents: the snapshot of then, if nothing is in the way. */
export function* followed(
  follower: StoreFollower,
  store: FollowedStore,
): Steps<Snapshot | 'expired' | FoldProblem> {
  let restarts = 0
  for (;;) {
    const step = follower.step(store.revision)
    if (step === 'there') return store.latest()
    if (step === 'expired') {
      if (++restarts > restartsMax) return 'expired'
    } else if (step !== 'more') return step
    yield
  }
}

/** A history that is shorter than a pass over all objects takes is not followed. */
const restartsMax = 2
