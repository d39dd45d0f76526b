/** Keeps memory within the budget: mirrored objects, history, indexes, and encoded segments.
 *
 *  When the budget is exceeded, the cheapest to lack goes first. Segments are encoded again when
 *  they are asked for. Without an index, a list looks at more objects. Without history, old
 *  continuations and watches have to begin again. Then keyspaces are dropped, the largest first:
 *  requests for them go to the upstream until a restart. Without an upstream no keyspace can be
 *  dropped: the start is refused, and later an error is logged. */

import {
  CacheError,
  type CancelTimer,
  type Clock,
  type HealthCheck,
  type Key,
  type Logger,
  repeat,
  textFromKey,
} from '@watchglass/base'
import type { Keyspace } from '@watchglass/store'
import type { KeyspaceSizes } from './keyspace-sizes.ts'

/** The memory that each part uses. */
export interface MemoryFigures {
  readonly budgetBytes: number
  readonly mirrorBytes: number
  readonly historyBytes: number
  readonly segmentBytes: number
  readonly indexBytes: number
  readonly droppedKeyspaces: number
}

/** A cache: its contents can be made again. */
export interface Droppable {
  readonly bytes: number
  dropTo(bytes: number): void
}

export interface CopiesOfMirror {
  readonly count: number
  trimHistory(keyspace: Key, bytes: number): void
  /** As many bytes more fit. */
  hasRoom(bytes: number): void
}

export interface MemoryKeeperOptions {
  readonly budgetBytes: number
  readonly segments: Droppable
  readonly indexes: Droppable
  /** The keyspaces that are mirrored now. */
  readonly keyspaces: () => readonly Key[]
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly sizes: KeyspaceSizes
  /** Whether a keyspace may be dropped: there is an upstream to pass to, and nothing else needs
   *  it. */
  readonly canDrop: (keyspace: Key) => boolean
  readonly drop: (keyspace: Key) => void
  /** Workers, each with a tree and a history of its own. */
  readonly copies?: CopiesOfMirror | undefined
  readonly clock: Clock
  readonly logger: Logger
}

const intervalMs = 1_000

export class MemoryKeeper {
  /** Resolves when the data does not fit into the budget at start, and no keyspace can be
   *  dropped. */
  readonly refused: Promise<CacheError>
  readonly #options: MemoryKeeperOptions
  #refuse: (refusal: CacheError) => void = () => {}
  #droppedKeyspaces = 0
  #isStarting = true
  #isOver = false
  #checking: Promise<void> | undefined
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

  get figures(): MemoryFigures {
    const { budgetBytes, segments, indexes, keyspaces, sizes, storeOf } = this.#options
    let mirrorBytes = 0
    let historyBytes = 0
    for (const keyspace of keyspaces()) {
      mirrorBytes += sizes.bytesOf(keyspace)
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
  check(): Promise<void> {
    this.#checking ??= this.#options.sizes
      .count()
      .then(() => this.#fit())
      .finally(() => (this.#checking = undefined))
    return this.#checking
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
    const { keyspaces, canDrop, drop, sizes, logger } = this.#options
    const candidates = keyspaces().filter(canDrop)
    const weight = (keyspace: Key): number => sizes.bytesOf(keyspace)
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
    sizes.forget(largest)
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
