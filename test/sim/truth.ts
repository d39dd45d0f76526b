/** The true past of the simulated etcd, revision by revision, kept apart from everything that is
 *  under test: for each keyspace the revisions at which it changed, and a sum over its entries
 *  after each. A restore forks the past into a new epoch. */

import { allKeys, type Key } from '../../lib/base/keys.ts'
import type { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { nextRevision, revision } from '../../lib/base/revision.ts'
import type { Batch, Event, KeyValue } from '../../lib/store/event.ts'
import type { Snapshot } from '../../lib/store/snapshot.ts'

export type KeyspaceOf = (key: Key) => string | undefined

/** The revisions at which a keyspace changed, and the sum of its entries from each on. */
interface Changes {
  readonly revisions: number[]
  readonly sums: number[]
}

/** One history of etcd, from its beginning or from the restore that began it. */
export class EpochTruth {
  readonly index: number
  readonly #keyspaceOf: KeyspaceOf
  readonly #changes = new Map<string, Changes>()
  readonly #batches: Batch[] = []
  readonly #byRevision = new Map<number, Batch>()
  /** The last revision that there was. */
  latest: number
  /** Up to here it is the epoch before. */
  forkedAt = 0
  /** Revision that a read that begins now must contain. */
  floor: number

  constructor(index: number, keyspaceOf: KeyspaceOf, start: number) {
    this.index = index
    this.#keyspaceOf = keyspaceOf
    this.latest = start
    this.floor = start
  }

  take(batch: Batch): void {
    this.#batches.push(batch)
    this.#byRevision.set(batch.revision, batch)
    this.latest = batch.revision
    for (const event of batch.events) {
      const name = this.#keyspaceOf(event.key)
      if (name === undefined) continue
      const changes = this.#of(name)
      const before = changes.sums.at(-1) ?? 0
      if (changes.revisions.at(-1) !== batch.revision) {
        changes.revisions.push(batch.revision)
        changes.sums.push(before)
      }
      changes.sums[changes.sums.length - 1] = sumAfter(before, event)
    }
  }

  /** The sum of a keyspace's entries at a revision. */
  sumAt(name: string, at: number): number {
    const { revisions, sums } = this.#of(name)
    const index = indexAfter(revisions, at)
    return index === 0 ? 0 : sums[index - 1]!
  }

  /** Events of a keyspace at a revision. */
  eventsAt(name: string, at: number): Event[] {
    const batch = this.#byRevision.get(at)
    return batch?.events.filter(({ key }) => this.#keyspaceOf(key) === name) ?? []
  }

  /** The first revision above `at` at which the keyspace changed. */
  nextChange(name: string, at: number): number | undefined {
    const { revisions } = this.#of(name)
    return revisions[indexAfter(revisions, at)]
  }

  /** A new epoch with the same past up to `at`. */
  fork(at: number): EpochTruth {
    const next = new EpochTruth(this.index + 1, this.#keyspaceOf, 1)
    next.forkedAt = at
    for (const batch of this.#batches) if (batch.revision <= at) next.take(batch)
    next.latest = at
    next.floor = at
    return next
  }

  #of(name: string): Changes {
    let changes = this.#changes.get(name)
    if (changes === undefined) {
      changes = { revisions: [], sums: [] }
      this.#changes.set(name, changes)
    }
    return changes
  }
}

export class Truth {
  readonly epochs: EpochTruth[]
  readonly #engine: Engine

  constructor(engine: Engine, keyspaceOf: KeyspaceOf) {
    this.#engine = engine
    this.epochs = [new EpochTruth(0, keyspaceOf, engine.revision)]
  }

  get current(): EpochTruth {
    return this.epochs.at(-1)!
  }

  /** Takes what the engine has decided since the last time. */
  pull(): void {
    const { current } = this
    if (this.#engine.revision === current.latest) return
    for (const batch of this.#engine.batches(nextRevision(revision(current.latest)))) {
      current.take(batch)
    }
    if (current.latest !== this.#engine.revision) throw new Error('the engine lost batches')
  }

  /** The engine was restored to where it is now. */
  restored(): void {
    this.epochs.push(this.current.fork(this.#engine.revision))
  }

  /** The highest revision that any epoch which is over had. */
  get expiredThrough(): number {
    return Math.max(0, ...this.epochs.slice(0, -1).map(({ latest }) => latest))
  }
}

/** The sum of a snapshot's entries. */
export function sumOf(snapshot: Snapshot): number {
  let sum = 0
  for (const entry of snapshot.iterate(allKeys)) sum = (sum + weightOf(entry)) % modulus
  return sum
}

/** The sum after an event, given the one before. */
export function sumAfter(sum: number, { before, after }: Event): number {
  return (sum + modulus - weightOf(before) + weightOf(after)) % modulus
}

/** Three such numbers together are still a safe integer. */
const modulus = 2 ** 51

const keyWeights = new Map<Key, number>()

/** A number that nearly nothing but this entry has. */
function weightOf(entry: KeyValue | undefined): number {
  if (entry === undefined) return 0
  let low = keyWeights.get(entry.key)
  if (low === undefined) {
    low = 0x811c9dc5
    for (let i = 0; i < entry.key.length; i++) {
      low = Math.imul(low ^ entry.key.charCodeAt(i), 0x01000193)
    }
    keyWeights.set(entry.key, low)
  }
  const a = mix(low ^ entry.modRevision)
  const b = mix(a ^ (entry.createRevision * 31 + entry.version))
  return (a & 0x7ffff) * 0x1_0000_0000 + (b >>> 0)
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x45d9f3b)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x45d9f3b)
  return mixed ^ (mixed >>> 16)
}

/** The index of the first of the rising numbers that is above `at`. */
function indexAfter(rising: readonly number[], at: number): number {
  let low = 0
  let high = rising.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (rising[middle]! <= at) low = middle + 1
    else high = middle
  }
  return low
}
