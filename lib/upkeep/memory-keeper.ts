/** Keeps memory within the budget: mirrored objects, history, indexes, and encoded segments.
 *
 *  When the budget is exceeded, the cheapest to lack goes first. Segments are encoded again when they are asked for. Without an index, a
 *  list looks at more objects. Without history, old continuations and watches have to begin again. Then keyspaces are dropped, the largest first: requests for them go to the
 *  upstream until a restart. Without an upstream no keyspace can be dropped: the start is refused, and later an error is logged. */

import type { CancelTimer, Clock } from '../base/clock.ts'
import { repeat } from '../base/timers.ts'
import { CacheError } from '../base/errors.ts'
import type { HealthCheck } from '../base/health-check.ts'
import { type Key, prefixRange, textFromKey } from '../base/keys.ts'
import type { Logger } from '../base/logger.ts'
import type { Batch, KeyValue } from '../store/event.ts'
import type { Keyspace } from '../store/keyspace.ts'
import type { Follower } from './followers.ts'

/** How much memory each part uses. */
export interface MemoryFigures {
  readonly budgetBytes: number
  readonly mirrorBytes: number
  readonly historyBytes: number
  readonly segmentBytes: number
  readonly indexBytes: number
  readonly droppedKeyspaces: number
}

/** What can be made again. */
export interface Droppable {
  readonly bytes: number
  dropTo(bytes: number): void
}

export interface CopiesOfMirror {
  readonly count: number
  trimHistory(keyspace: Key, bytes: number): void
  /** So much more fits. */
  hasRoom(bytes: number): void
}

export interface MemoryKeeperOptions {
  readonly budgetBytes: number
  readonly segments: Droppable
  readonly indexes: Droppable
  /** The keyspaces that are mirrored now. */
  readonly keyspaces: () => readonly Key[]
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  /** Whether a keyspace may be dropped: there is an upstream to pass to, and nothing else needs it. */
  readonly canDrop: (keyspace: Key) => boolean
  readonly drop: (keyspace: Key) => void
  /** Face threads, each with a tree and a history of its own. */
  readonly copies?: CopiesOfMirror | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** An entry's object, its key, and its share of the tree: bench/store, at 1,000,000 keys. */
const entryBytes = 240
const intervalMs = 1_000
/** Counting gives way after this many entries, which take less than a millisecond. */
const sliceEntries = 10_000

export class MemoryKeeper implements Follower {
  /** Resolves when the data does not fit into the budget at start, and no keyspace can be dropped. */
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

  constructor(options: MemoryKeeperOptions) {
    this.#options = options
    this.refused = new Promise(resolve => (this.#refuse = resolve))
  }

  start(): void {
    this.#cancel = repeat(this.#options.clock, intervalMs, () => this.check())
  }

  stop(): void {
    this.#cancel()
  }

  /** Everything is mirrored for the first time. */
  started(): void {
    void this.check().then(() => (this.#isStarting = false))
  }

  applied(keyspace: Key, { events }: Batch): void {
    let change = 0
    for (const { before, after } of events) change += this.#weightOf(after) - this.#weightOf(before)
    this.#bytes.set(keyspace, (this.#bytes.get(keyspace) ?? 0) + change)
  }

  reset(keyspace: Key): void {
    this.#uncounted.add(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#uncounted.add(keyspace)
  }

  get figures(): MemoryFigures {
    const { budgetBytes, segments, indexes, keyspaces, storeOf } = this.#options
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
      indexBytes: indexes.bytes,
      droppedKeyspaces: this.#droppedKeyspaces,
    }
  }

  /** Whether so much more fits. */
  fits(bytes: number): boolean {
    return usedOf(this.figures) + bytes <= this.#options.budgetBytes
  }

  /** For readiness. */
  readonly healthCheck: HealthCheck = {
    name: 'memory',
    problem: () => (this.#isOver ? sentenceOf(this.figures) : undefined),
  }

  /** Counts, and frees what is over the budget. */
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

  /** Begins at zero, so that changes during the count are counted once. */
  async #count(keyspace: Key): Promise<void> {
    const store = this.#options.storeOf(keyspace)
    this.#bytes.set(keyspace, 0)
    if (store === undefined) return
    let bytes = 0
    let entries = 0
    for (const entry of store.latest().iterate(prefixRange(keyspace))) {
      bytes += this.#weightOf(entry)
      if (++entries % sliceEntries === 0) await this.#options.clock.yield()
    }
    this.#bytes.set(keyspace, (this.#bytes.get(keyspace) ?? 0) + bytes)
  }

  #fit(): void {
    const { segments, indexes } = this.#options
    const excess = (): number => excessOf(this.figures)
    const before = excess()
    if (before > 0) {
      segments.dropTo(Math.max(0, segments.bytes - before))
      indexes.dropTo(Math.max(0, indexes.bytes - Math.max(0, excess())))
      this.#trimHistories(excess())
      while (excess() > 0 && this.#dropLargest());
    }
    this.#options.copies?.hasRoom(Math.max(0, -excess()))
    const isOver = excess() > 0
    if (isOver && !this.#isOver) this.#sayOver()
    this.#isOver = isOver
  }

  /** Values lie in memory once, everything else in each tree. */
  #weightOf(entry: KeyValue | undefined): number {
    if (entry === undefined) return 0
    const trees = 1 + (this.#options.copies?.count ?? 0)
    return trees * (entryBytes + entry.key.length) + entry.valueLength
  }

  /** The largest histories are trimmed first. */
  #trimHistories(excess: number): void {
    const { keyspaces, storeOf, copies } = this.#options
    const stores = keyspaces().flatMap(keyspace => {
      const store = storeOf(keyspace)
      return store === undefined ? [] : { keyspace, store }
    })
    stores.sort((a, b) => b.store.historyBytes - a.store.historyBytes)
    let left = excess
    for (const { keyspace, store } of stores) {
      if (left <= 0) return
      const had = store.historyBytes
      const kept = Math.max(0, had - left)
      store.trimHistory(kept)
      copies?.trimHistory(keyspace, kept)
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
    logger.warn(
      'memory is over its budget: a resource is no longer mirrored, and requests for it go to the upstream',
      {
        keyspace: textFromKey(largest),
        bytes: weight(largest),
      },
    )
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
  return usedOf(figures) - figures.budgetBytes
}

function usedOf({ mirrorBytes, historyBytes, segmentBytes, indexBytes }: MemoryFigures): number {
  return mirrorBytes + historyBytes + segmentBytes + indexBytes
}

function sentenceOf(figures: MemoryFigures): string {
  const { budgetBytes, mirrorBytes, historyBytes, segmentBytes, indexBytes } = figures
  const [mirror, history, segments, indexes] = [
    mirrorBytes,
    historyBytes,
    segmentBytes,
    indexBytes,
  ].map(mebibytes)
  const parts = `mirror ${mirror}, history ${history}, segments ${segments}, indexes ${indexes}`
  return `${mebibytes(usedOf(figures))} MiB are needed (${parts}), --memory-budget is ${mebibytes(budgetBytes)} MiB`
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 ** 2).toFixed(1)
}
