/** Keeps what is held in memory within a budget: what is mirrored, the history, and encoded segments.
 *
 *  What is over the budget is let go of in the order of what it costs to lack it: segments are made anew when somebody asks; history
 *  only makes old continuations and watches begin again; a keyspace, the largest first, passes to the upstream from then on, until
 *  a restart. Without an upstream nothing can be done about the mirror: a start is refused then, and later it is said. */

import type { CancelTimer, Clock } from '../base/clock.ts'
import { CacheError } from '../base/errors.ts'
import type { HealthCheck } from '../base/health-check.ts'
import { type Key, prefixRange, textFromKey } from '../base/keys.ts'
import type { Logger } from '../base/logger.ts'
import type { Batch, KeyValue } from '../store/event.ts'
import type { Keyspace } from '../store/keyspace.ts'
import type { Follower } from './followers.ts'

/** What there is of each part. */
export interface MemoryFigures {
  readonly budgetBytes: number
  readonly mirrorBytes: number
  readonly historyBytes: number
  readonly segmentBytes: number
  readonly droppedKeyspaces: number
}

export interface MemoryKeeperOptions {
  readonly budgetBytes: number
  readonly segments: { readonly bytes: number; dropTo(bytes: number): void }
  /** Those that are mirrored, as they are now. */
  readonly keyspaces: () => readonly Key[]
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  /** Whether a keyspace may be let go of: there is an upstream to pass to, and nothing else needs it. */
  readonly canDrop: (keyspace: Key) => boolean
  readonly drop: (keyspace: Key) => void
  readonly clock: Clock
  readonly logger: Logger
}

/** An entry's object, its key, and its share of the tree: bench/store, at 1,000,000 keys. */
const entryBytes = 240
const intervalMs = 1_000
/** Counting gives way after so many entries, which takes less than a millisecond. */
const sliceEntries = 10_000

export class MemoryKeeper implements Follower {
  /** Resolves when it does not fit, at start, and nothing can be done about it. */
  readonly refused: Promise<CacheError>
  readonly #options: MemoryKeeperOptions
  #refuse: (refusal: CacheError) => void = () => {}
  readonly #bytes = new Map<Key, number>()
  readonly #uncounted = new Set<Key>()
  #droppedKeyspaces = 0
  #isStarting = true
  #isOver = false
  #isChecking = false
  #cancel: CancelTimer = () => {}
  #isStopped = false

  constructor(options: MemoryKeeperOptions) {
    this.#options = options
    this.refused = new Promise(resolve => (this.#refuse = resolve))
  }

  start(): void {
    this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel()
  }

  /** Everything is mirrored for the first time. */
  started(): void {
    void this.check().then(() => (this.#isStarting = false))
  }

  applied(keyspace: Key, { events }: Batch): void {
    let change = 0
    for (const { before, after } of events) change += weightOf(after) - weightOf(before)
    this.#bytes.set(keyspace, (this.#bytes.get(keyspace) ?? 0) + change)
  }

  reset(keyspace: Key): void {
    this.#uncounted.add(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#uncounted.add(keyspace)
  }

  get figures(): MemoryFigures {
    const { budgetBytes, segments, keyspaces, storeOf } = this.#options
    let mirrorBytes = 0
    let historyBytes = 0
    for (const keyspace of keyspaces()) {
      mirrorBytes += this.#bytes.get(keyspace) ?? 0
      historyBytes += storeOf(keyspace)?.historyBytes ?? 0
    }
    return {
      budgetBytes,
      mirrorBytes,
      historyBytes,
      segmentBytes: segments.bytes,
      droppedKeyspaces: this.#droppedKeyspaces,
    }
  }

  /** For readiness. */
  readonly healthCheck: HealthCheck = {
    name: 'memory',
    problem: () => (this.#isOver ? sentenceOf(this.figures) : undefined),
  }

  /** Counts, and lets go of what is over. */
  async check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      for (const keyspace of this.#uncounted) {
        this.#uncounted.delete(keyspace)
        await this.#count(keyspace)
      }
      this.#fit()
    } finally {
      this.#isChecking = false
    }
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.setTimer(intervalMs, () => {
      void this.check().finally(() => {
        if (!this.#isStopped) this.#schedule()
      })
    })
  }

  /** Changes that come meanwhile are added to nothing, and so are counted once. */
  async #count(keyspace: Key): Promise<void> {
    const store = this.#options.storeOf(keyspace)
    this.#bytes.set(keyspace, 0)
    if (store === undefined) return
    let bytes = 0
    let entries = 0
    for (const entry of store.latest().iterate(prefixRange(keyspace))) {
      bytes += weightOf(entry)
      if (++entries % sliceEntries === 0) await this.#options.clock.yield()
    }
    this.#bytes.set(keyspace, (this.#bytes.get(keyspace) ?? 0) + bytes)
  }

  #fit(): void {
    const { segments } = this.#options
    const excess = (): number => excessOf(this.figures)
    const before = excess()
    if (before > 0) {
      segments.dropTo(Math.max(0, segments.bytes - before))
      this.#trimHistories(excess())
      while (excess() > 0 && this.#dropLargest());
    }
    const isOver = excess() > 0
    if (isOver && !this.#isOver) this.#sayOver()
    this.#isOver = isOver
  }

  /** Those that hold the most give first. */
  #trimHistories(excess: number): void {
    const { keyspaces, storeOf } = this.#options
    const stores = keyspaces().flatMap(keyspace => storeOf(keyspace) ?? [])
    stores.sort((a, b) => b.historyBytes - a.historyBytes)
    let left = excess
    for (const store of stores) {
      if (left <= 0) return
      const had = store.historyBytes
      store.trimHistory(Math.max(0, had - left))
      left -= had - store.historyBytes
    }
  }

  #dropLargest(): boolean {
    const { keyspaces, canDrop, drop, logger } = this.#options
    const candidates = keyspaces().filter(canDrop)
    const weight = (keyspace: Key): number => this.#bytes.get(keyspace) ?? 0
    candidates.sort((a, b) => weight(b) - weight(a))
    const [largest] = candidates
    if (largest === undefined || weight(largest) === 0) return false
    logger.warn('a resource passes to the upstream from now on: memory is over its budget', {
      keyspace: textFromKey(largest),
      bytes: weight(largest),
    })
    this.#bytes.delete(largest)
    this.#droppedKeyspaces++
    drop(largest)
    return true
  }

  #sayOver(): void {
    const sentence = sentenceOf(this.figures)
    if (this.#isStarting) this.#refuse(new CacheError('overloaded', sentence))
    else this.#options.logger.error('memory is over its budget', { figures: sentence })
  }
}

function excessOf(figures: MemoryFigures): number {
  const { budgetBytes, mirrorBytes, historyBytes, segmentBytes } = figures
  return mirrorBytes + historyBytes + segmentBytes - budgetBytes
}

function sentenceOf(figures: MemoryFigures): string {
  const { budgetBytes, mirrorBytes, historyBytes, segmentBytes } = figures
  const all = mirrorBytes + historyBytes + segmentBytes
  const parts = `mirror ${mebibytes(mirrorBytes)}, history ${mebibytes(historyBytes)}, segments ${mebibytes(segmentBytes)}`
  return `${mebibytes(all)} MiB are needed (${parts}), --memory-budget is ${mebibytes(budgetBytes)} MiB`
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(1)
}

function weightOf(entry: KeyValue | undefined): number {
  return entry === undefined ? 0 : entryBytes + entry.key.length + entry.valueLength
}
