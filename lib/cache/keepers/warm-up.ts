/** Runs what writes lists before the first list comes.
 *
 *  V8 begins with code that is many times as slow, so that a few objects take longer than a slice
 *  may, and optimizes it while it runs: for a first list of 60,000 pods that took as much of the
 *  processors as half of the list itself, in each thread. So a sample of each large resource is
 *  written as soon as the resource is there, in slices, and thrown away. */

import { allKeys, type Clock, type Key, NotExact, Slice } from '@watchglass/base'
import {
  itemEncoder,
  itemsJoined,
  itemsOfRun,
  type ObjectEncoder,
  type OutputForm,
  type Run,
  type Segment,
} from '@watchglass/codec'
import { type ApiState, keyspacesOf, parseShardSelector, runsOfUids } from '@watchglass/kube'
import {
  type Keyspace,
  type KeyValue,
  type LeafSlice,
  SegmentCache,
  type Snapshot,
} from '@watchglass/store'
import type { Follower } from './followers.ts'

export interface WarmUpOptions {
  readonly state: () => WarmedState
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly clock: Clock
  /** Nothing is written before: a start has other things to do. */
  readonly ready: Promise<void>
  /** Told why a sample could not be written. Lists are served without it. */
  readonly onFault: (error: unknown) => void
  /** Number of objects that makes a resource large. */
  readonly minObjects?: number
  /** Objects are also shown without their managed fields. */
  readonly hasDrop?: boolean | undefined
  /** Shards of them are listed: their hashes are made before, too. */
  readonly hasShards?: boolean | undefined
}

type WarmedState = Pick<ApiState, 'encoderOf' | 'makeReader'> & {
  readonly registry: Pick<ApiState['registry'], 'resources'>
}

/** Lists of fewer objects take some hundred milliseconds at first, whatever is done. */
const defaultMinObjects = 10_000
/** After 1,500 V8 still optimizes the largest functions of pods, which it does last. */
const sampleObjects = 5_000
/** The size of a sample of stored objects: of large ones it has fewer. */
const sampleMaxBytes = 24 * 1024 * 1024
/** Objects that are written between two looks at the clock: the first ones take a millisecond
 *  each. */
const objectsAtOnce = 2
const json = ['json'] as const
const aQuarter = "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000')"

export class WarmUp implements Follower {
  readonly #options: WarmUpOptions
  readonly #begun = new Set<Key>()
  #last: Promise<void>

  constructor(options: WarmUpOptions) {
    this.#options = options
    this.#last = options.ready
  }

  stateChanged(keyspace: Key): void {
    this.applied(keyspace)
  }

  reset(keyspace: Key): void {
    this.applied(keyspace)
  }

  applied(keyspace: Key): void {
    if (this.#begun.has(keyspace)) return
    const { storeOf, minObjects = defaultMinObjects } = this.#options
    const snapshot = storeOf(keyspace)?.latest()
    if (snapshot === undefined || snapshot.size < minObjects) return
    this.#begun.add(keyspace)
    this.#last = this.#last.then(() => this.#run(keyspace)).catch(this.#options.onFault)
  }

  async #run(keyspace: Key): Promise<void> {
    const state = this.#options.state()
    const snapshot = this.#options.storeOf(keyspace)?.latest()
    const resource = state.registry.resources.find(one => keyspacesOf(one).includes(keyspace))
    const encoder = resource && state.encoderOf(resource)
    if (snapshot === undefined || encoder === undefined || encoder instanceof NotExact) return
    const encodings = encoder.kind.custom === undefined ? (['json', 'protobuf'] as const) : json
    for (const encoding of encodings) {
      await this.#write(encoder, snapshot, { encoding })
      if (this.#options.hasDrop !== true) continue
      await this.#write(encoder, snapshot, { encoding, drops: true })
    }
    if (resource === undefined || this.#options.hasShards !== true) return
    const selection = { resource, keyspace, shards: parseShardSelector(aQuarter) }
    for (const encoding of encodings) {
      const runs = runsOfUids(snapshot, allKeys, selection, state.makeReader)
      await this.#join(encoder, runs, encoding)
    }
  }

  /** Writes a sample of a shard as lists of it do, and has hashes made for all leaves. */
  async #join(
    encoder: ObjectEncoder,
    runs: Iterable<Run>,
    encoding: 'json' | 'protobuf',
  ): Promise<void> {
    const slice = new Slice(this.#options.clock)
    const form = { encoding, rendering: 'object', renderingVersion: 'v1' } as const
    const perItem = {
      ...itemEncoder(encoder, { ...form, includeObject: 'None', now: 0 }),
      segmentName: 'warm-up',
    }
    const nothingKept = new SegmentCache<Segment>(0)
    let written = 0
    for (const run of runs) {
      written += run.to - run.from
      const isSample = run.isJoined === true && written < sampleObjects
      for (const items of isSample ? itemsJoined(run, perItem, nothingKept) : []) {
        if (items instanceof NotExact) return
      }
      if (slice.isOver) await slice.next()
    }
  }

  async #write(
    encoder: ObjectEncoder,
    snapshot: Snapshot,
    form: Pick<OutputForm, 'encoding' | 'drops'>,
  ): Promise<void> {
    const { clock } = this.#options
    const shown = { ...form, rendering: 'object', renderingVersion: 'v1' } as const
    await encoder.prepare(shown, clock)
    const perItem = itemEncoder(encoder, { ...shown, includeObject: 'None', now: 0 })
    const slice = new Slice(clock)
    for (const { entries, from, to } of sampleOf(snapshot)) {
      for (let i = from; i < to; i += objectsAtOnce) {
        const end = Math.min(i + objectsAtOnce, to)
        const written = itemsOfRun({ entries, from: i, to: end, leaf: undefined }, perItem, {})
        if (written instanceof NotExact) break
        if (slice.isOver) await slice.next()
      }
    }
  }
}

/** Leaves from all over the snapshot. */
function* sampleOf(snapshot: Snapshot): Generator<LeafSlice<KeyValue>, void, undefined> {
  const every = Math.ceil(snapshot.size / sampleObjects)
  let leaves = 0
  let bytes = 0
  for (const leaf of snapshot.leaves(allKeys)) {
    if (leaves++ % every > 0) continue
    for (let i = leaf.from; i < leaf.to; i++) bytes += leaf.entries[i]!.valueLength
    if (bytes > sampleMaxBytes) return
    yield leaf
  }
}
