/** The rules for everything that a mirror says, judged by the truth. The names follow etcd's
 *  robustness tests.
 *
 *  - fresh: a consistent read contains every write that was acknowledged before it began, and is
 *    not older than any consistent read that had ended before it began, of whichever mirror.
 *  - monotonic: what one mirror gives as the newest never goes back.
 *  - exact: every answer is the exact state of its keyspace at its revision; one that names a
 *    revision has that one, or has expired for a reason.
 *  - ordered, unique, atomic, reliable: each position sees every batch of its keyspace once, whole,
 *    in order, without a gap.
 *  - bookmarkable: a proven revision means that nothing up to it is missing.
 *  - epochs: what was served from one epoch is never followed by an older one; no epoch begins
 *    without a restore. */

import type { ReadOutcome } from '../../lib/cache/mirror/reads/read.ts'
import type { Freshness } from '../../lib/base/freshness.ts'
import type { CacheError } from '../../lib/base/errors.ts'
import type { Batch } from '../../lib/store/event.ts'
import type { Snapshot } from '../../lib/store/snapshot.ts'
import { type EpochTruth, sumAfter, sumOf, type Truth } from './truth.ts'

/** A check that did not hold. */
export class SimFailure extends Error {
  override readonly name = 'SimFailure'
}

/** The knowledge when a read began. */
export interface ReadMark {
  readonly epoch: number
  readonly floor: number
  /** The newest answer that had been given, and in which epoch of the mirror. */
  readonly newest: Newest | undefined
}

interface Newest {
  readonly revision: number
  readonly epoch: number
}

/** A position in the history of one keyspace of one mirror. */
export interface Position {
  readonly epoch: number
  revision: number
  sum: number
}

/** The checks of one mirror. */
export class MirrorChecks {
  readonly #truth: Truth
  readonly #name: string
  readonly #hasThreads: boolean
  /** The oldest epoch that it may still serve. */
  #servedEpoch = 0
  #newEpochs = 0
  /** The newest answer for each keyspace, and in which epoch of the mirror it was given. */
  readonly #newest = new Map<string, Newest>()

  /** With threads only reads that began after an answer are compared with it; one mirror alone
   *  answers in order. */
  constructor(truth: Truth, name: string, hasThreads = false) {
    this.#truth = truth
    this.#name = name
    this.#hasThreads = hasThreads
  }

  beginRead(keyspace: string): ReadMark {
    const { current } = this.#truth
    return { epoch: current.index, floor: current.floor, newest: this.#newest.get(keyspace) }
  }

  /** Judges an answer from memory. */
  answered(
    keyspace: string,
    { freshness, mark }: { freshness: Freshness; mark: ReadMark },
    outcome: ReadOutcome,
  ): void {
    if (outcome.from !== 'mirror') return
    const { snapshot } = outcome
    const what = `${freshness.type} read of ${keyspace} at ${snapshot.revision}`
    if (freshness.type === 'exact' && snapshot.revision !== freshness.revision) {
      throw this.#failure(`${what} should be at ${freshness.revision}`)
    }
    if (freshness.type === 'not-older-than' && snapshot.revision < freshness.revision) {
      throw this.#failure(`${what} is older than ${freshness.revision}`)
    }
    if (snapshot.revision < 1) throw this.#failure(`${what}: no etcd has that revision`)
    const { revision } = snapshot
    if (freshness.type !== 'exact') this.#checkNewest(keyspace, { mark, revision }, what)
    if (freshness.type === 'consistent') this.#checkFresh(keyspace, mark, snapshot, what)
    else this.#servedEpoch = this.#epochOf(keyspace, snapshot, this.#servedEpoch, what).index
  }

  /** Judges a page that was read past the mirror, holding one whole keyspace. */
  directlyAnswered(keyspace: string, mark: ReadMark, snapshot: Snapshot): void {
    this.#checkFresh(keyspace, mark, snapshot, `direct read of ${keyspace} at ${snapshot.revision}`)
  }

  /** Judges a refusal: there must be a reason for it. */
  refused(freshness: Freshness, failure: CacheError): void {
    const { code, details } = failure
    const asked = 'revision' in freshness ? freshness.revision : undefined
    const what = `${freshness.type} read${asked === undefined ? '' : ` at ${asked}`}`
    if (code === 'expired') {
      const isTooOld = freshness.type === 'exact' && freshness.revision < (details.oldest ?? 0)
      const isOldEpoch = asked !== undefined && asked <= this.#truth.expiredThrough
      if (!isTooOld && !isOldEpoch) throw this.#failure(`${what} expired without a reason`)
    } else if (code === 'future_revision') {
      if (asked === undefined || asked <= (details.latest ?? Infinity)) {
        throw this.#failure(`${what} is not in the future of ${details.latest}`)
      }
    } else if (code === 'overloaded' || code === 'source_failed' || code === 'not_ready') {
      if (details.retryAfterMs === undefined) throw this.#failure(`${what}: no time to retry`)
    } else if (code !== 'not_found' && code !== 'closed') {
      throw this.#failure(`${what} failed with ${code}: ${failure.message}`)
    }
  }

  /** The mirror has noticed a new epoch. */
  newEpoch(): void {
    this.#newEpochs++
    const restores = this.#truth.epochs.length - 1
    if (this.#newEpochs > restores) {
      throw this.#failure(`${this.#newEpochs} new epochs after ${restores} restores`)
    }
  }

  /** The position of whoever has listed a keyspace. */
  positionOf(keyspace: string, snapshot: Snapshot): Position {
    const epoch = this.#epochOf(keyspace, snapshot, this.#servedEpoch, `list of ${keyspace}`)
    return { epoch: epoch.index, revision: snapshot.revision, sum: sumOf(snapshot) }
  }

  /** Moves a position over a batch. */
  moved(keyspace: string, position: Position, batch: Batch): void {
    const what = `batch ${batch.revision} of ${keyspace} after ${position.revision}`
    const sum = batch.events.reduce(sumAfter, position.sum)
    // What a position has in common with later epochs may go on in one of them only after a reset,
    // which ends the position.
    const epoch = this.#truth.epochs
      .slice(position.epoch)
      .find(
        one =>
          one.nextChange(keyspace, position.revision) === batch.revision &&
          one.sumAt(keyspace, batch.revision) === sum,
      )
    if (epoch === undefined) {
      const expected = this.#truth.epochs[position.epoch]?.nextChange(keyspace, position.revision)
      throw this.#failure(`${what}, where ${expected ?? 'nothing'} should come`)
    }
    position.revision = batch.revision
    position.sum = sum
  }

  /** Nothing up to `proven` is missing in these contents. */
  proven(keyspace: string, snapshot: Snapshot, proven: number): void {
    const what = `${keyspace} proven at ${proven}`
    this.#epochWith(this.#servedEpoch, what, epoch => {
      return proven <= epoch.latest && epoch.sumAt(keyspace, proven) === sumOf(snapshot)
    })
  }

  /** Whoever asks the same mirror again for what is newest, in whichever of its threads, never gets
   *  something older, unless it has noticed that etcd went back. */
  #checkNewest(
    keyspace: string,
    { mark, revision }: { mark: ReadMark; revision: number },
    what: string,
  ): void {
    const epoch = this.#newEpochs
    const newest = this.#newest.get(keyspace)
    const before = this.#hasThreads ? mark.newest : newest
    if (before?.epoch === epoch && revision < before.revision) {
      throw this.#failure(`${what} is older than an answer before it, at ${before.revision}`)
    }
    if (newest?.epoch === epoch && revision < newest.revision) return
    this.#newest.set(keyspace, { revision, epoch })
  }

  #checkFresh(keyspace: string, mark: ReadMark, snapshot: Snapshot, what: string): void {
    const sum = sumOf(snapshot)
    const { revision } = snapshot
    const epoch = this.#epochWith(
      mark.epoch,
      `${what}, which must contain ${mark.floor}`,
      one =>
        revision <= one.latest &&
        (one.index > mark.epoch || revision >= mark.floor) &&
        one.sumAt(keyspace, revision) === sum,
    )
    if (revision > epoch.floor) epoch.floor = revision
    if (epoch.index > this.#servedEpoch) this.#servedEpoch = epoch.index
  }

  #epochOf(keyspace: string, snapshot: Snapshot, from: number, what: string): EpochTruth {
    const sum = sumOf(snapshot)
    const { revision } = snapshot
    return this.#epochWith(
      from,
      what,
      one => revision <= one.latest && one.sumAt(keyspace, revision) === sum,
    )
  }

  /** The first epoch from `from` on that passes. */
  #epochWith(from: number, what: string, passes: (epoch: EpochTruth) => boolean): EpochTruth {
    for (const epoch of this.#truth.epochs.slice(from)) if (passes(epoch)) return epoch
    const { current } = this.#truth
    throw this.#failure(`${what} is no state of epochs ${from} to ${current.index}`)
  }

  #failure(text: string): SimFailure {
    return new SimFailure(`${this.#name}: ${text}`)
  }
}
