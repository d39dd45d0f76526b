/** Checks open watches again, and ends those that would not be allowed now.
 *
 *  A change of the rules makes all of them due at once, and again a little later, because the
 *  upstream may see the change later than we do. Without a change, each is due every five minutes.
 *  Only a few reviews are in flight at a time. Equal questions share one answer, so a thousand
 *  watches of one controller cost one review.
 *
 *  A review that fails ends no watch: the upstream would have kept it, too. */

import type { CancelTimer, Clock, Random } from '@watchglass/base'
import type { AccessAnswer } from './review-cache.ts'

export interface RecheckedWatch {
  /** Asks whether the watch is still allowed. The answer may be cached. */
  readonly question: () => Promise<AccessAnswer>
  readonly end: () => void
  /** When the credentials expire, on the wall clock: the watch ends then in any case. */
  readonly expiresAtMs: number | undefined
  /** The namespace whose rules it depends on, beside those of the whole cluster. */
  readonly namespace?: string | undefined
  /** True if access rules have changed since it was allowed. */
  readonly isStale: boolean
}

export interface RechecksOptions {
  readonly clock: Clock
  readonly random: Random
}

/** The interval without a visible change: credentials may be revoked, and rules may be stored
 *  elsewhere. */
const intervalMs = 5 * 60_000
/** The interval varies by this share in both directions, so that watches that were opened
 *  together are not always checked together. */
const intervalJitter = 0.2
/** After a change, watches are checked at once, when decisions by the old rules have expired (1
 *  s), and when the upstream must have seen the change (5 s). */
const roundsAfterMs: readonly number[] = [0, 1_500, 6_500]
/** Changes within this time share one round of checks. */
const roundsApartMs = 200
/** Reviews in flight at a time: requests need reviews of their own. */
const underWayMax = 16
/** A review that failed is repeated after this time. */
const retryMs = 10_000

interface Entry extends RecheckedWatch {
  isDue: boolean
  isOpen: boolean
  cancel: CancelTimer
}

/** The longest delay that a timer takes. */
const timerMaxMs = 2 ** 31 - 1

export class Rechecks {
  readonly #options: RechecksOptions
  readonly #open = new Set<Entry>()
  readonly #due: Entry[] = []
  #underWay = 0
  #lastRoundMs = Number.NEGATIVE_INFINITY
  #rounds: CancelTimer[] = []
  /** Namespaces whose rules have changed; an empty one stands for all. */
  readonly #changed = new Set<string>()
  #isStopped = false

  constructor(options: RechecksOptions) {
    this.#options = options
  }

  /** Number of watches that are rechecked. */
  get size(): number {
    return this.#open.size
  }

  /** Rechecks a watch until the returned function is called. */
  add(watch: RecheckedWatch): () => void {
    const entry: Entry = { ...watch, isDue: false, isOpen: true, cancel: () => {} }
    this.#open.add(entry)
    this.#schedule(entry, this.#intervalMs())
    if (watch.isStale) this.#makeDue(entry)
    return () => this.#letGo(entry)
  }

  /** Access rules have changed: all watches are due now, and again when the upstream has had
   *  time to see the change. */
  rulesChanged(namespace = ''): void {
    this.#changed.add(namespace)
    const { clock } = this.#options
    for (const cancel of this.#rounds) cancel()
    if (this.#isStopped) return
    const sinceMs = clock.monotonicMs() - this.#lastRoundMs
    const waitMs = Math.max(0, roundsApartMs - sinceMs)
    this.#rounds = roundsAfterMs.map(afterMs => clock.setTimer(waitMs + afterMs, this.#round))
    const lastMs = waitMs + (roundsAfterMs.at(-1) ?? 0)
    this.#rounds.push(clock.setTimer(lastMs, () => this.#changed.clear()))
  }

  /** Stops all checks. */
  stop(): void {
    this.#isStopped = true
    for (const cancel of this.#rounds) cancel()
    for (const entry of this.#open) this.#letGo(entry)
  }

  readonly #round = (): void => {
    this.#lastRoundMs = this.#options.clock.monotonicMs()
    for (const entry of this.#open) {
      const isConcerned = this.#changed.has('') || this.#changed.has(entry.namespace ?? '')
      if (isConcerned) this.#makeDue(entry)
    }
  }

  #makeDue(entry: Entry): void {
    if (entry.isDue || !entry.isOpen) return
    entry.isDue = true
    this.#due.push(entry)
    this.#pump()
  }

  #pump(): void {
    while (this.#underWay < underWayMax) {
      const entry = this.#due.shift()
      if (entry === undefined) return
      entry.isDue = false
      if (!entry.isOpen) continue
      this.#underWay++
      void this.#check(entry).finally(() => {
        this.#underWay--
        this.#pump()
      })
    }
  }

  async #check(entry: Entry): Promise<void> {
    let delayMs = this.#intervalMs()
    try {
      const { type } = await entry.question()
      if (type !== 'allowed') {
        this.#end(entry)
        return
      }
    } catch {
      delayMs = retryMs
    }
    if (entry.isOpen) this.#schedule(entry, delayMs)
  }

  /** Waits until the watch is due, or its credentials expire. */
  #schedule(entry: Entry, delayMs: number): void {
    const { clock } = this.#options
    entry.cancel()
    const leftMs = (entry.expiresAtMs ?? Number.POSITIVE_INFINITY) - clock.wallMs()
    const isLast = leftMs <= delayMs
    entry.cancel = clock.setTimer(
      Math.min(timerMaxMs, Math.max(0, isLast ? leftMs : delayMs)),
      () => (isLast ? this.#end(entry) : this.#makeDue(entry)),
    )
  }

  #end(entry: Entry): void {
    if (!entry.isOpen) return
    this.#letGo(entry)
    entry.end()
  }

  #letGo(entry: Entry): void {
    entry.isOpen = false
    entry.cancel()
    this.#open.delete(entry)
  }

  #intervalMs(): number {
    return intervalMs * (1 + intervalJitter * (2 * this.#options.random.next() - 1))
  }
}
