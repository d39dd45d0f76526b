/** Loads keyspaces from a paged read: sorts the entries of each page into the trees under
 *  construction, in slices, and reports its progress. Nothing is published before the last page,
 *  and beside the data itself only two pages are in memory. */

import {
  CacheError,
  type Clock,
  type KeyRange,
  type Logger,
  type Random,
  type Revision,
  Slice,
} from '@watchglass/base'
import type { Source } from '@watchglass/etcd'
import { type BTree, BTreeBuilder, type KeyValue, type Snapshot } from '@watchglass/store'
import type { HeldCheckpoint } from '../checkpoint.ts'
import { CompletedPages } from './completed-pages.ts'
import type { Epochs } from './epochs.ts'
import type { MirrorLimits } from '../limits.ts'
import type { MirrorMetrics } from '../metrics.ts'
import type { KeyspaceOf } from '../mirrored-keyspace.ts'
import { atOnceMaxBytes, type PlainValues } from '../plain-values.ts'
import { OneHistory } from './one-history.ts'
import type { RangePage } from './page.ts'
import { readPages } from './pages.ts'
import type { RevisionProbe } from '../reads/revision-probe.ts'

/** The progress of a bootstrap. */
export interface LoadReport {
  readonly entries: number
  /** Number of entries still to read. */
  readonly remaining: number
  readonly bytes: number
  readonly elapsedMs: number
  readonly isDone: boolean
}

export interface LoadOptions {
  readonly client: Source
  readonly clock: Clock
  readonly random: Random
  readonly limits: MirrorLimits
  readonly logger: Logger
  readonly metrics: MirrorMetrics
  readonly epochs: Epochs
  readonly probe: RevisionProbe
  readonly keyspaceOf: KeyspaceOf
  readonly plain?: PlainValues | undefined
  readonly checkpoint?: HeldCheckpoint | undefined
  readonly signal: AbortSignal
  /** Called after each page. */
  readonly onReport: (report: LoadReport) => void
}

export interface LoadRequest {
  readonly range: KeyRange
  /** The keyspaces to load, each with the correct contents that it has already, so that unchanged
   *  entries are not stored twice. */
  readonly keyspaces: ReadonlyMap<string, Snapshot | undefined>
  /** Called between pages; true ends the load with `overloaded`. */
  readonly isTooMuch?: () => boolean
}

/** Contents of keyspaces at one revision. */
export interface Loaded {
  readonly revision: Revision
  readonly trees: ReadonlyMap<string, BTree<KeyValue>>
  /** All keys that were read. */
  readonly count: number
  /** Keys that belong to none of the keyspaces. */
  readonly unmatched: number
  /** Some of the newest entries, as etcd sent them, the newest last. */
  readonly newest: readonly KeyValue[]
}

/** The clock is read once for this many entries. */
const clockCheckEntries = 256

const logIntervalMs = 5000

/** Reads a range of etcd and sorts it into keyspaces, with values of the checkpoint where it has
 *  them. Fails with `expired` when etcd compacted the revision meanwhile, and with `source_failed`
 *  when the pages may not be of one history. */
export async function loadKeyspaces(options: LoadOptions, request: LoadRequest): Promise<Loaded> {
  const completed = await loadWithCheckpoint(options, request)
  if (completed !== undefined) return completed
  const { partsAtOnce } = options.limits
  const pages = readPages(options, { range: request.range, partsAtOnce, attemptsMax: 5 })
  return loadPages(options, request, pages)
}

/** Undefined if there is no checkpoint, or none of this etcd and its history. */
async function loadWithCheckpoint(
  options: LoadOptions,
  request: LoadRequest,
): Promise<Loaded | undefined> {
  const { checkpoint, epochs, probe, logger, signal } = options
  const contents = await checkpoint?.contents()
  if (checkpoint === undefined || contents === undefined) return undefined
  await probe.revisionNow(signal)
  if (signal.aborted) throw new CacheError('closed', 'load was abandoned')
  if (epochs.clusterId !== contents.clusterId) {
    checkpoint.leaveAside(
      `it is of etcd cluster ${contents.clusterId}, this is ${epochs.clusterId}`,
    )
    return undefined
  }
  const pages = new CompletedPages(options, contents)
  const loaded = await loadPages(options, request, pages.read(request.range))
  if (!(await pages.isSame())) {
    checkpoint.leaveAside('it is of another history of this etcd, as before a restored backup')
    return undefined
  }
  checkpoint.used()
  const { taken } = pages
  logger.info('completed the keys of a range', { checkpoint: taken, etcd: loaded.count - taken })
  return loaded
}

async function loadPages(
  options: LoadOptions,
  request: LoadRequest,
  pages: AsyncIterable<RangePage>,
): Promise<Loaded> {
  const load = new Load(options, request)
  const history = new OneHistory(options)
  let revision: Revision | undefined
  for await (const page of history.pagesOf(request.range, pages)) {
    if (request.isTooMuch?.() === true) {
      throw new CacheError('overloaded', 'too much changed while a keyspace was read')
    }
    revision = page.revision
    await load.take(page)
  }
  if (revision === undefined) throw new CacheError('closed', 'paged read was abandoned')
  const { newest, count } = history
  return { ...load.finish(), revision, newest, count }
}

class Load {
  readonly #options: LoadOptions
  readonly #request: LoadRequest
  readonly #builders = new Map<string, BTreeBuilder<KeyValue>>()
  readonly #startMs: number
  readonly #room = { bytes: 0 }
  #entries = 0
  #bytes = 0
  #unmatched = 0
  #loggedAtMs: number

  constructor(options: LoadOptions, request: LoadRequest) {
    this.#options = options
    this.#request = request
    this.#startMs = options.clock.monotonicMs()
    this.#loggedAtMs = this.#startMs
    for (const name of request.keyspaces.keys()) this.#builders.set(name, new BTreeBuilder())
  }

  async take({ entries, remaining, isLast }: RangePage): Promise<void> {
    const { clock, limits, metrics, signal } = this.#options
    let bytes = 0
    const slice = new Slice(clock, limits.sliceMaxMs)
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i]!
      const added = this.#add(entry)
      bytes += entry.key.length + added.valueLength
      const isChecked = added !== entry || (i % clockCheckEntries === 0 && i > 0)
      if (!isChecked || !slice.isOver) continue
      await slice.next()
      if (signal.aborted) throw new CacheError('closed', 'load was abandoned')
    }
    this.#entries += entries.length
    this.#bytes += bytes
    metrics.loaded(entries.length, bytes)
    this.#report(isLast, remaining)
  }

  finish(): Pick<Loaded, 'trees' | 'unmatched'> {
    const trees = new Map<string, BTree<KeyValue>>()
    for (const [name, builder] of this.#builders) trees.set(name, builder.finish())
    return { trees, unmatched: this.#unmatched }
  }

  /** The entry as it is kept. */
  #add(entry: KeyValue): KeyValue {
    const name = this.#options.keyspaceOf(entry.key)
    const builder = name === undefined ? undefined : this.#builders.get(name)
    if (name === undefined || builder === undefined) {
      this.#unmatched++
      return entry
    }
    this.#room.bytes = atOnceMaxBytes
    const plain = this.#options.plain?.of(entry, this.#room) ?? entry
    const known = this.#request.keyspaces.get(name)?.get(entry.key)
    const added = known !== undefined && isUnchanged(known, plain) ? known : plain
    builder.add(added)
    return added
  }

  #report(isDone: boolean, remaining: number): void {
    const { clock, logger, onReport } = this.#options
    const nowMs = clock.monotonicMs()
    const elapsedMs = nowMs - this.#startMs
    const report = { entries: this.#entries, remaining, bytes: this.#bytes, elapsedMs, isDone }
    onReport(report)
    if (!isDone && nowMs - this.#loggedAtMs < logIntervalMs) return
    this.#loggedAtMs = nowMs
    logger.info(isDone ? 'read all keys of a range' : 'reading the keys of a range', {
      objects: this.#entries,
      remaining: isDone ? undefined : remaining,
      secondsLeft: isDone ? undefined : secondsLeft(report),
      bytes: this.#bytes,
      elapsedMs: Math.round(elapsedMs),
      objectsPerSecond: Math.round((this.#entries * 1000) / Math.max(1, elapsedMs)),
    })
  }
}

/** Revisions may be equal and values not, where etcd was restored from a backup. */
function isUnchanged(known: KeyValue, entry: KeyValue): boolean {
  return (
    known.modRevision === entry.modRevision &&
    known.createRevision === entry.createRevision &&
    known.version === entry.version &&
    known.lease === entry.lease &&
    Buffer.compare(known.value, entry.value) === 0
  )
}

/** About how long it still takes, if it goes on as it did. */
export function secondsLeft({ entries, remaining, elapsedMs }: LoadReport): number {
  return Math.ceil((elapsedMs * remaining) / Math.max(1, entries) / 1000)
}
