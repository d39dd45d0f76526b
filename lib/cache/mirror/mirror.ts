/** Keeps keyspaces equal to one etcd, and answers reads of them with the freshness that the read
 *  asks for.
 *
 *  A mirror has one feed, and so one watch stream, for each range that it follows. Usually that is
 *  a single one for the whole prefix, so that events of busy keyspaces raise the revision of quiet
 *  ones, too. The clock, the client and everything else is passed in. */

import { setMaxListeners } from 'node:events'
import { type ReadOptions, type ReadOutcome } from './reads/read.ts'
import {
  CacheError,
  type Clock,
  inRange,
  type Key,
  type KeyRange,
  type Logger,
  type Random,
  type Revision,
} from '@watchglass/base'
import type { OwnRevision, ResponseHeader, Source } from '@watchglass/etcd'
import { type Checkpoint, HeldCheckpoint } from './checkpoint.ts'
import type { LoadReport } from './feed/bootstrap.ts'
import { CompactionFollower } from './feed/compaction.ts'
import { DirectReads } from './reads/direct-reads.ts'
import { Epochs } from './feed/epochs.ts'
import type { FeedContext } from './feed/feed-context.ts'
import { Landmarks } from './feed/landmarks.ts'
import { Feed } from './feed/feed.ts'
import { FreshnessGate } from './reads/freshness.ts'
import type { MirrorLimits } from './limits.ts'
import { MemberVersions } from './member-versions.ts'
import type { MirrorMetrics } from './metrics.ts'
import {
  type KeyspaceDescription,
  type KeyspaceOf,
  MirroredKeyspace,
  type MirrorSink,
} from './mirrored-keyspace.ts'
import type { PlainValues } from './plain-values.ts'
import { RevisionProbe } from './reads/revision-probe.ts'
import { runSelfChecks } from './self-check.ts'
import { type KeyspaceStatus, statusOf } from './status.ts'

export interface MirrorOptions {
  readonly client: Source
  readonly clock: Clock
  readonly random: Random
  readonly limits: MirrorLimits
  readonly logger: Logger
  /** The log of times without answers; `logger` if it is left out. */
  readonly outageLogger?: Logger | undefined
  readonly metrics: MirrorMetrics
  readonly sink: MirrorSink
  /** Ranges to follow, which do not overlap: one stream each (`rangesWithout` makes them). */
  readonly ranges: readonly KeyRange[]
  /** Which keyspace a key belongs to. It must know a keyspace before `add` names it. */
  readonly keyspaceOf: KeyspaceOf
  /** The key with etcd's compacted revision. If it is left out, compactions are not followed. */
  readonly compactRevisionKey?: Key | undefined
  /** Makes values plain that an API server has compressed; undefined: they stay as etcd has
   *  them. */
  readonly plain?: PlainValues | undefined
  /** Contents that etcd had before: what is still the same is not read from etcd. */
  readonly checkpoint?: Checkpoint | undefined
  readonly onLoad?: ((range: KeyRange, report: LoadReport) => void) | undefined
  /** Called when something has changed that the sink is not told: the epoch, the compacted
   *  revision, or whether progress can be trusted. */
  readonly onFactsChanged?: (() => void) | undefined
  /** False trusts progress marks of every etcd version: only tests do that. */
  readonly isCheckingVersions?: boolean | undefined
}

/** A keyspace that is mirrored, and the stream that it follows. */
export interface MirroredPlace {
  readonly keyspace: MirroredKeyspace
  readonly feed: Feed
}

export class Mirror {
  /** Reads from etcd itself, within bounds. */
  readonly directReads: DirectReads
  /** A key that the credentials may read; it need not exist. */
  readonly probeKey: Key
  readonly #context: FeedContext
  readonly #stopped = new AbortController()
  readonly #epochs = new Epochs()
  readonly #probe: RevisionProbe
  readonly #feeds: readonly Feed[]
  readonly #places = new Map<string, MirroredPlace>()
  /** Answers reads. */
  readonly gate: FreshnessGate
  readonly #compaction: CompactionFollower | undefined
  #running: Promise<unknown> | undefined = undefined

  constructor(options: MirrorOptions) {
    const { client, clock, limits, metrics, logger, ranges } = options
    const { signal } = this.#stopped
    const epochs = this.#epochs
    this.probeKey = ranges[0]?.start ?? ('' as Key)
    // All questions and reads under way listen to it.
    setMaxListeners(0, signal)
    const landmarks = new Landmarks()
    const probe = new RevisionProbe({
      ...options,
      logger: options.outageLogger ?? logger,
      epochs,
      landmarks,
      signal,
      key: this.probeKey,
      onStaleAnswer: this.#tellStaleAnswer,
      onNewEpoch: this.#startEpoch,
    })
    const versions = new MemberVersions({
      client,
      clock,
      limits,
      logger,
      isCheckingVersions: options.isCheckingVersions ?? true,
    })
    const onLoad = options.onLoad ?? (() => {})
    const onFactsChanged = options.onFactsChanged ?? (() => {})
    const { checkpoint } = options
    this.#probe = probe
    this.#context = {
      ...options,
      checkpoint: checkpoint && new HeldCheckpoint(checkpoint, { clock, logger, signal }),
      epochs,
      landmarks,
      probe,
      versions,
      signal,
      onLoad,
      onFactsChanged,
    }
    this.#feeds = ranges.map(range => new Feed(range, this.#context))
    this.#compaction =
      options.compactRevisionKey === undefined
        ? undefined
        : new CompactionFollower(this.#context, options.compactRevisionKey)
    this.gate = new FreshnessGate({
      clock,
      limits,
      metrics,
      epochs,
      probe,
      compactRevision: () => this.compactRevision,
    })
    this.directReads = new DirectReads({ ...options, epochs, probe })
  }

  /** etcd's compacted revision; 0 when none is known. */
  get compactRevision(): Revision {
    return this.#compaction?.revision ?? (0 as Revision)
  }

  /** Header of every answer of etcd, but for the revision. */
  get header(): Omit<ResponseHeader, 'revision'> {
    return this.#epochs.header
  }

  /** The highest revision that etcd is known to have reached. */
  get witnessed(): Revision {
    return this.#epochs.witnessed
  }

  /** Whether progress marks decide about a keyspace: etcd is new enough, and answers. */
  isProgressTrusted(name: string): boolean {
    return this.#place(name).feed.trust === 'trusted'
  }

  /** See `Source.ownRevision`. */
  get ownRevision(): OwnRevision | undefined {
    return this.#context.client.ownRevision
  }

  /** Feeds of the mirror, for whoever passes the contents on (lib/workers). */
  get feeds(): readonly Feed[] {
    return this.#feeds
  }

  get epochs(): Pick<Epochs, 'number' | 'witnessed' | 'expiredThrough'> {
    return this.#epochs
  }

  /** Asks etcd for its current revision. */
  get probe(): Pick<RevisionProbe, 'ask' | 'outage'> {
    return this.#probe
  }

  /** Whether all of a range is followed by one stream, so that a keyspace may lie there. */
  covers(range: KeyRange): boolean {
    return this.#feeds.some(feed => coversRange(feed.range, range))
  }

  /** Starts to mirror a keyspace, at once or, when the mirror runs already, as soon as it has been
   *  read. */
  add(description: KeyspaceDescription): MirroredPlace {
    const { clock, sink } = this.#context
    const { name, range } = description
    if (this.#places.has(name)) {
      throw new CacheError('invalid_request', `keyspace ${name} is mirrored already`)
    }
    const feed = this.#feeds.find(one => coversRange(one.range, range))
    if (feed === undefined) {
      throw new CacheError('invalid_request', `keyspace ${name} lies outside of what is mirrored`)
    }
    const keyspace = new MirroredKeyspace(description, clock, sink)
    const place = { keyspace, feed }
    this.#places.set(name, place)
    feed.add(keyspace)
    return place
  }

  /** Stops mirroring a keyspace and drops its contents. */
  drop(name: string): void {
    const { feed } = this.#place(name)
    this.#places.delete(name)
    feed.drop(name)
  }

  /** Connects, and follows etcd until `stop`. */
  start(): void {
    const runs = this.#feeds.map(feed => feed.run())
    if (this.#compaction !== undefined) runs.push(this.#compaction.run())
    runs.push(runSelfChecks(this.#context, this.#feeds))
    this.#stopped.signal.addEventListener('abort', this.#probe.watchOut(), { once: true })
    this.#running = Promise.all(runs)
  }

  /** Ends streams and waiting reads. The client is not closed: it is the caller's. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    this.gate.close()
    await this.#running
  }

  /** The contents of a keyspace, fresh as asked for: see `FreshnessGate`. */
  read(name: string, options: ReadOptions): ReadOutcome | Promise<ReadOutcome> {
    const place = this.#places.get(name)
    if (place === undefined) {
      return Promise.reject(new CacheError('not_found', `keyspace ${name} is not mirrored`))
    }
    return this.gate.read(place.keyspace, place.feed, options)
  }

  /** The keyspace with its history, for the hub. Its contents may be shown only while it is served
   *  (see `status`). */
  keyspace(name: string): MirroredKeyspace {
    return this.#place(name).keyspace
  }

  /** The revision up to which nothing is missing in a keyspace. */
  proven(name: string): Revision {
    const { keyspace, feed } = this.#place(name)
    return keyspace.proven(feed.progress)
  }

  /** Requests a progress mark on each stream, for bookmarks that are due. The sink gets the
   *  result. */
  refresh(names: readonly string[]): void {
    for (const feed of new Set(names.map(name => this.#place(name).feed))) feed.refresh()
  }

  /** True for a revision that only an old epoch had: a client that holds it must list again (410,
   *  not 504). */
  isOfOldEpoch(revision: Revision): boolean {
    return revision > this.#epochs.witnessed && revision <= this.#epochs.expiredThrough
  }

  /** The status of each keyspace. */
  statuses(): KeyspaceStatus[] {
    const nowMs = this.#context.clock.monotonicMs()
    return [...this.#places.values()].map(({ keyspace, feed }) =>
      statusOf(keyspace, feed, { nowMs, witnessed: this.#epochs.witnessed }),
    )
  }

  /** Reads that wait for the mirror now. */
  get waitingReads(): number {
    return this.gate.waiting
  }

  #place(name: string): MirroredPlace {
    const place = this.#places.get(name)
    if (place === undefined) throw new CacheError('not_found', `keyspace ${name} is not mirrored`)
    return place
  }

  get #called(): string {
    return this.#context.client.called ?? 'etcd'
  }

  readonly #startEpoch = (): void => {
    const { witnessed, expiredThrough, number } = this.#epochs
    this.#context.logger.error(
      `${this.#called} has another history, as after a restored backup: everything is read again and all watches end`,
      {
        epoch: number,
        revision: witnessed,
        before: expiredThrough,
      },
    )
    this.#compaction?.startEpoch()
    for (const feed of this.#feeds) feed.startEpoch()
    this.#context.onFactsChanged()
  }

  readonly #tellStaleAnswer = (got: Revision, known: Revision): void => {
    this.#context.metrics.violation('stale-quorum-read')
    this.#context.logger.error(
      `a linearizable read of ${this.#called} was answered with an older revision than an earlier one`,
      { got, known },
    )
  }
}

/** Whether one range holds all of another. */
export function coversRange(outer: KeyRange, inner: KeyRange): boolean {
  if (!inRange(inner.start, outer)) return false
  return outer.end === undefined || (inner.end !== undefined && inner.end <= outer.end)
}
