/** The freshness gate: answers a read with a snapshot as soon as its freshness is proven.
 *
 *  ```
 *  any              the newest contents
 *  consistent       ask etcd for its revision R (shared: see RevisionProbe), wait until progress >= R, the newest contents
 *  not older than N wait until progress >= N, the newest contents
 *  exact N          wait until progress >= N, the contents at N
 *  ```
 *
 *  Nothing is polled. A read waits in exactly one place: at the keyspace until it is served, at
 *  the probe, or in the heap of waiters for progress. Each wakes it, and it then checks
 *  everything again from the start. A read that has waited for its limit is refused and not sent
 *  to etcd: large reads from an etcd that is already slow have made API servers fail. */

import { type GateFeed, type ReadOptions, type ReadOutcome } from './read.ts'
import {
  allKeys,
  CacheError,
  type Clock,
  type Freshness,
  revision,
  type Revision,
} from '@watchglass/base'
import { CheapPasses } from './cheap-passes.ts'
import { DeadlineList } from './deadlines.ts'
import type { Epochs } from '../feed/epochs.ts'
import type { MirrorLimits } from '../limits.ts'
import type { MirrorMetrics } from '../metrics.ts'
import type { MirroredKeyspace } from '../mirrored-keyspace.ts'
import type { Snapshot } from '@watchglass/store'
import { PendingRead } from './pending-read.ts'
import type { RevisionProbe } from './revision-probe.ts'

const noRevision = revision(0)

export interface GateOptions {
  readonly clock: Clock
  readonly limits: MirrorLimits
  readonly metrics: MirrorMetrics
  readonly epochs: Pick<Epochs, 'number' | 'expiredThrough'>
  readonly probe: Pick<RevisionProbe, 'ask' | 'known' | 'outage'>
  /** etcd's compacted revision, from `compact_rev_key`. */
  readonly compactRevision: () => Revision
}

export class FreshnessGate {
  readonly #options: GateOptions
  readonly #deadlines: DeadlineList<PendingRead>
  /** The reads that wait for longer, and go elsewhere then. */
  readonly #patient: DeadlineList<PendingRead>
  readonly #cheapPasses: CheapPasses | undefined
  #sequence = 0
  #isClosed = false

  constructor(options: GateOptions) {
    this.#options = options
    const { cheapPasses } = options.limits
    this.#cheapPasses = cheapPasses && new CheapPasses(cheapPasses, options.clock)
    this.#deadlines = new DeadlineList(options.clock, options.limits.readWaitMaxMs, read => {
      // What it waits for, such as a probe, may not be needed any more.
      this.#look(read)
      if (!read.isSettled) read.fail(this.#refusal(read))
    })
    const { initialStateWaitMs = options.limits.readWaitMaxMs } = options.limits
    this.#patient = new DeadlineList(options.clock, initialStateWaitMs, read => {
      this.#look(read)
      read.goElsewhere('progress-untrusted')
    })
  }

  /** Number of waiting reads. */
  get waiting(): number {
    return this.#deadlines.size + this.#patient.size
  }

  /** Answers from the mirror, or returns that the read must go elsewhere: at once if nothing has to
   *  be waited for. Fails with `expired`, `future_revision`, `not_ready`, `overloaded`,
   *  `source_failed` or `closed`. */
  read(
    keyspace: MirroredKeyspace,
    feed: GateFeed,
    options: ReadOptions,
  ): ReadOutcome | Promise<ReadOutcome> {
    if (this.#isClosed) return Promise.reject(stopping())
    return this.#atOnce(keyspace, feed, options) ?? this.#wait(keyspace, feed, options)
  }

  /** A read of the newest contents that are known to be new enough. A small get takes 20 µs, of
   *  which a promise and what a waiting read holds would be a tenth. */
  #atOnce(
    keyspace: MirroredKeyspace,
    feed: GateFeed,
    { freshness }: ReadOptions,
  ): ReadOutcome | undefined {
    const wanted = this.#wantedNow(freshness)
    if (wanted === undefined || !keyspace.isServed || keyspace.isDropped) return undefined
    const proven = keyspace.proven(feed.progress)
    if (wanted > proven) return undefined
    const { metrics } = this.#options
    keyspace.advance(proven)
    const isStale = freshness.type === 'any' && keyspace.state === 'cut-off'
    metrics.read(freshness.type, 'mirror', 0)
    if (isStale) metrics.staleRead()
    return { from: 'mirror', snapshot: keyspace.store.latest(), isStale }
  }

  /** The revision that the newest contents must have reached; undefined if that has to be found
   *  out, or older contents are wanted. */
  #wantedNow(freshness: Freshness): Revision | undefined {
    switch (freshness.type) {
      case 'any':
        return noRevision
      case 'consistent':
        return this.#options.probe.known()
      case 'not-older-than':
        return freshness.revision
      case 'exact':
        return undefined
    }
  }

  /** The outcome of a read; no promise where it can be decided at once: this turn may bring news of
   *  a restore before its reader goes on. */
  #wait(
    keyspace: MirroredKeyspace,
    feed: GateFeed,
    options: ReadOptions,
  ): ReadOutcome | Promise<ReadOutcome> {
    const { clock, limits, metrics, epochs } = this.#options
    const startMs = clock.monotonicMs()
    const { type } = options.freshness
    let settled: ReadOutcome | CacheError | undefined
    let settle = (outcome: ReadOutcome | CacheError): void => void (settled = outcome)
    const read = new PendingRead(keyspace, feed, options, {
      sequence: this.#sequence++,
      epoch: () => epochs.number,
      look: this.#look,
      settled: outcome => {
        deadlines.remove(read)
        const waitedMs = clock.monotonicMs() - startMs
        const isRefused = outcome instanceof CacheError
        metrics.read(type, isRefused ? 'refused' : outcome.from, waitedMs)
        if (!isRefused && outcome.from === 'mirror' && outcome.isStale) metrics.staleRead()
        settle(outcome)
      },
    })
    const isBounded = type === 'consistent' && read.canGoElsewhere
    const isPatient =
      isBounded && options.work === 'watch' && limits.initialStateWaitMs !== undefined
    const deadlines = isPatient ? this.#patient : this.#deadlines
    if (this.waiting >= limits.waitingReadsMax) {
      read.fail(
        new CacheError('overloaded', `${limits.waitingReadsMax} reads are waiting already`, {
          retryAfterMs: limits.retryAfterMs,
        }),
      )
    } else {
      deadlines.add(read)
      this.#look(read)
      const { provableWaitMs } = limits
      const givesUp = isBounded && !isPatient && provableWaitMs !== undefined
      if (givesUp && !read.isSettled) read.giveUpAfter(clock, provableWaitMs)
    }
    if (settled instanceof CacheError) return Promise.reject(settled)
    if (settled !== undefined) return settled
    return new Promise((resolve, reject) => {
      settle = outcome => (outcome instanceof CacheError ? reject(outcome) : resolve(outcome))
    })
  }

  /** Ends every waiting read, and refuses all others. */
  close(): void {
    this.#isClosed = true
    for (const deadlines of [this.#deadlines, this.#patient]) {
      deadlines.takeAll(read => read.fail(stopping()))
    }
  }

  /** Answers the read, or leaves it in the place that will wake it. All decisions about a read are
   *  made here. */
  readonly #look = (read: PendingRead): void => {
    if (read.isSettled) return
    const { keyspace } = read
    if (keyspace.isDropped && read.options.elsewhere === 'anywhere') {
      read.goElsewhere('not-ready')
    } else if (keyspace.isDropped) {
      read.fail(new CacheError('not_found', `keyspace ${keyspace.name} is not mirrored any more`))
    } else if (!keyspace.isServed) {
      if (read.canGoElsewhere) {
        read.goElsewhere(keyspace.state === 'suspect' ? 'suspect' : 'not-ready')
      } else {
        read.listen()
        if (!read.isSettled) keyspace.whenServed(read)
      }
    } else {
      this.#lookAtRevision(read, read.options.freshness)
    }
  }

  #lookAtRevision(read: PendingRead, freshness: Freshness): void {
    switch (freshness.type) {
      case 'any':
        read.answerNewest()
        return
      case 'consistent':
        if (!read.isProbed && this.#isCheaperElsewhere(read)) read.goElsewhere('cheaper-elsewhere')
        else if (!read.isProbed) this.#probe(read)
        else this.#awaitProgress(read, read.probedRevision)
        return
      case 'not-older-than':
      case 'exact':
        this.#lookAtNamed(read, freshness.revision)
    }
  }

  #isCheaperElsewhere({ keyspace, options: { work }, canGoElsewhere }: PendingRead): boolean {
    const { cheapPasses } = this.#options.limits
    if (cheapPasses === undefined || !canGoElsewhere) return false
    if (work === undefined || work === 'watch') return false
    const { listMaxBytes, listCost } = cheapPasses
    if (work === 'list' && !isSmall(keyspace.store.latest(), listMaxBytes)) return false
    return this.#cheapPasses?.take(work === 'list' ? listCost : 1) === true
  }

  /** An outage of etcd for us need not be one for the upstream: as soon as it is certain, reads
   *  that may go there do. They still ask, so that its end is noticed. */
  #probe(read: PendingRead): void {
    const { probe } = this.#options
    probe.ask(read)
    const isOut = probe.outage.problem !== undefined
    if (isOut && read.options.elsewhere === 'anywhere') read.goElsewhere('not-ready')
  }

  /** Advances a read that names its revision. */
  #lookAtNamed(read: PendingRead, revision: Revision): void {
    const { epochs, probe, compactRevision } = this.#options
    const isExact = read.options.freshness.type === 'exact'
    if (revision <= read.proven) {
      if (!isExact) read.answerNewest()
      else read.answerExactly(revision, compactRevision())
      return
    }
    // A revision that only an old epoch had will never come. etcd's current revision tells it from
    // one that is about to come.
    if (revision <= epochs.expiredThrough) {
      if (!read.isProbed) {
        probe.ask(read)
        return
      }
      if (revision > read.probedRevision) {
        const { oldest } = read.keyspace.store
        read.fail(new CacheError('expired', `revision ${revision} is of an old epoch`, { oldest }))
        return
      }
    }
    this.#awaitProgress(read, revision)
  }

  #awaitProgress(read: PendingRead, revision: Revision): void {
    if (revision <= read.proven) {
      read.answerNewest()
      return
    }
    const { clock, limits } = this.#options
    const { feed } = read
    const isUnprovable = feed.trust === 'old version' || feed.trust === 'unanswered'
    if (isUnprovable && read.canGoElsewhere) read.giveUpAfter(clock, limits.untrustedWaitMs)
    if (read.isSettled) return
    read.waitFor(revision)
  }

  /** The failure of a read that has waited for too long. */
  #refusal(read: PendingRead): CacheError {
    const { limits, probe } = this.#options
    const { keyspace, options } = read
    const { readWaitMaxMs: waitedMs, retryAfterMs } = limits
    const cause = probe.outage.failure
    const why = cause === undefined ? '' : `: ${cause.message}`
    if (!keyspace.isServed) {
      return new CacheError(
        'not_ready',
        `keyspace ${keyspace.name} is ${keyspace.state} after ${waitedMs} ms${why}`,
        { retryAfterMs },
      )
    }
    const { freshness } = options
    if (freshness.type === 'not-older-than' || freshness.type === 'exact') {
      return new CacheError(
        'future_revision',
        `revision ${freshness.revision} is above latest ${read.proven} after ${waitedMs} ms`,
        { latest: read.proven, retryAfterMs },
      )
    }
    if (!read.isProbed && cause !== undefined) {
      return new CacheError('source_failed', `etcd has no answer within ${waitedMs} ms${why}`, {
        retryAfterMs,
        cause,
      })
    }
    return new CacheError(
      'overloaded',
      `progress ${read.proven} has not reached ${read.probedRevision} in ${waitedMs} ms`,
      { retryAfterMs },
    )
  }
}

/** A list of more objects is never small: it takes a server a while, whatever they hold. */
const smallEntriesMax = 128

function isSmall(contents: Snapshot, maxBytes: number): boolean {
  if (contents.size > smallEntriesMax) return false
  let bytes = 0
  for (const { valueLength } of contents.iterate(allKeys)) bytes += valueLength
  return bytes <= maxBytes
}

function stopping(): CacheError {
  return new CacheError('closed', 'mirror is stopping')
}
