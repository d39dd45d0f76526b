/** A read in the freshness gate: what it asks for, what is known for it, and how it ends, exactly
 *  once. */

import { type ElsewhereReason, type GateFeed, type ReadOptions, type ReadOutcome } from './read.ts'
import { CacheError, type CancelTimer, type Clock, revision, type Revision } from '@watchglass/base'
import { Perishable } from './deadlines.ts'
import type { Snapshot } from '@watchglass/store'
import type { MirroredKeyspace, ServedWaiter } from '../mirrored-keyspace.ts'
import type { ProgressWaiter } from '../feed/progress.ts'
import type { RevisionAsker } from './revision-probe.ts'

export interface PendingReadHooks {
  readonly sequence: number
  /** The number of the present epoch. */
  readonly epoch: () => number
  /** Checks again what the read waits for. */
  readonly look: (read: PendingRead) => void
  readonly settled: (outcome: ReadOutcome | CacheError) => void
}

export class PendingRead extends Perishable implements ServedWaiter, ProgressWaiter, RevisionAsker {
  readonly keyspace: MirroredKeyspace
  readonly feed: GateFeed
  readonly options: ReadOptions
  readonly canGoElsewhere: boolean
  readonly sequence: number
  readonly #hooks: PendingReadHooks
  #isSettled = false
  #awaited: Revision = revision(0)
  #isInHeap = false
  #probedRevision: Revision = revision(0)
  #probedEpoch = 0
  #givesUpAtMs = Infinity
  #cancelGivingUp: CancelTimer | undefined = undefined
  #stopListening: (() => void) | undefined = undefined

  constructor(
    keyspace: MirroredKeyspace,
    feed: GateFeed,
    options: ReadOptions,
    hooks: PendingReadHooks,
  ) {
    super()
    this.keyspace = keyspace
    this.feed = feed
    this.options = options
    this.canGoElsewhere = canGoElsewhere(options, keyspace)
    this.sequence = hooks.sequence
    this.#hooks = hooks
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  get awaited(): Revision {
    return this.#awaited
  }

  get proven(): Revision {
    return this.keyspace.proven(this.feed.progress)
  }

  /** etcd's revision at some moment after the read began. */
  get probedRevision(): Revision {
    return this.#probedRevision
  }

  /** etcd's revision is known, and is of the present epoch. */
  get isProbed(): boolean {
    return this.#probedEpoch === this.#hooks.epoch()
  }

  /** Waits until the feed's progress has reached `awaited`. */
  waitFor(awaited: Revision): void {
    this.listen()
    if (this.#isSettled) return
    this.#awaited = awaited
    this.#isInHeap = true
    this.feed.progress.wait(this)
    this.feed.need(awaited)
  }

  probed(revision: Revision): void {
    this.#probedRevision = revision
    this.#probedEpoch = this.#hooks.epoch()
    this.#hooks.look(this)
  }

  delayed(): void {
    this.listen()
  }

  reached(): void {
    this.#isInHeap = false
    this.#hooks.look(this)
  }

  servedChanged(): void {
    this.#hooks.look(this)
  }

  /** Fails when its caller cancels it. A signal is expensive, and most reads need only one short
   *  probe, so it is requested only when the read has to wait for something else. */
  listen(): void {
    if (this.#stopListening !== undefined) return
    const signal = this.options.reader?.signal
    if (signal === undefined) return
    if (signal.aborted) {
      this.fail(abandoned())
      return
    }
    const abort = (): void => {
      this.fail(abandoned())
    }
    signal.addEventListener('abort', abort, { once: true })
    this.#stopListening = () => {
      signal.removeEventListener('abort', abort)
    }
  }

  /** Goes elsewhere unless it is answered within `delayMs`, or before a time that was said
   *  earlier. */
  giveUpAfter(clock: Clock, delayMs: number): void {
    const atMs = clock.monotonicMs() + delayMs
    if (atMs >= this.#givesUpAtMs) return
    this.#givesUpAtMs = atMs
    this.#cancelGivingUp?.()
    const giveUp = (): void => this.goElsewhere('progress-untrusted')
    if (delayMs > 0) this.#cancelGivingUp = clock.setTimer(delayMs, giveUp)
    else giveUp()
  }

  answerNewest(): void {
    this.keyspace.advance(this.proven)
    this.#answer(this.keyspace.store.latest())
  }

  /** Answers with the contents at a proven revision; fails if they are not kept any more. */
  answerExactly(wanted: Revision, compactRevision: Revision): void {
    const { store } = this.keyspace
    this.keyspace.advance(this.proven)
    if (wanted >= store.oldest && wanted >= compactRevision) {
      this.#answer(store.at(wanted))
    } else if (wanted >= compactRevision && this.canGoElsewhere) {
      this.goElsewhere('revision-not-kept')
    } else {
      const oldest = Math.max(store.oldest, compactRevision)
      this.fail(
        new CacheError('expired', `revision ${wanted} is below oldest ${oldest}`, { oldest }),
      )
    }
  }

  goElsewhere(reason: ElsewhereReason): void {
    this.#settle({ from: 'elsewhere', reason })
  }

  fail(failure: CacheError): void {
    this.#settle(failure)
  }

  #answer(snapshot: Snapshot): void {
    const isStale = this.keyspace.state === 'cut-off' && this.options.freshness.type === 'any'
    this.#settle({ from: 'mirror', snapshot, isStale })
  }

  #settle(outcome: ReadOutcome | CacheError): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#cancelGivingUp?.()
    this.#stopListening?.()
    if (this.#isInHeap) this.feed.progress.abandoned()
    this.#hooks.settled(outcome)
  }
}

/** A keyspace that is still being read for the first time is waited for: reading the same from etcd
 *  again would only slow that down. */
function canGoElsewhere(
  { elsewhere, freshness }: ReadOptions,
  { isServed }: MirroredKeyspace,
): boolean {
  if (elsewhere !== 'etcd') return elsewhere === 'anywhere'
  return freshness.type === 'exact' || (freshness.type === 'consistent' && isServed)
}

function abandoned(): CacheError {
  return new CacheError('closed', 'read was abandoned')
}
