/** Several mirrors behind one interface: a Kubernetes cluster may have some resources, usually
 *  events, in another etcd with its own revisions. Each keyspace is mirrored by the first mirror
 *  that follows its range. */

import type { DirectReadRequest } from './reads/direct-reads.ts'
import type { ReadOptions, ReadOutcome } from './reads/read.ts'
import { CacheError, type KeyRange, type Revision } from '@watchglass/base'
import type { RangePage } from './feed/page.ts'
import { defaultLimits, type MirrorLimits } from './limits.ts'
import type { Mirror, MirroredPlace } from './mirror.ts'
import type { OwnMirrors } from './mirrors.ts'
import type { KeyspaceDescription, MirroredKeyspace } from './mirrored-keyspace.ts'
import type { KeyspaceStatus } from './status.ts'

interface Mirrored {
  readonly mirror: Mirror
  readonly place: MirroredPlace
}

export class MirrorSet implements OwnMirrors {
  readonly mirrors: readonly Mirror[]
  readonly isOnDemand = false
  readonly limits: MirrorLimits
  readonly #byKeyspace = new Map<string, Mirrored>()

  constructor(mirrors: readonly Mirror[], limits: MirrorLimits = defaultLimits) {
    this.mirrors = mirrors
    this.limits = limits
  }

  /** The mirror of a keyspace. Fails with `not_found`. */
  of(keyspace: string): Mirror {
    const mirrored = this.#byKeyspace.get(keyspace)
    if (mirrored === undefined) throw notMirrored(keyspace)
    return mirrored.mirror
  }

  has(keyspace: string): boolean {
    return this.#byKeyspace.has(keyspace)
  }

  /** Starts to mirror a keyspace. Fails with `invalid_request` when no mirror follows its range, or
   *  it is mirrored already. */
  add(description: KeyspaceDescription): void {
    const { name, range } = description
    const mirror = this.#byKeyspace.get(name)?.mirror ?? this.mirrors.find(one => one.covers(range))
    if (mirror === undefined) {
      throw new CacheError('invalid_request', `keyspace ${name} lies outside of what is mirrored`)
    }
    this.#byKeyspace.set(name, { mirror, place: mirror.add(description) })
  }

  /** Whether a mirror follows all of a range. */
  covers(range: KeyRange): boolean {
    return this.mirrors.some(mirror => mirror.covers(range))
  }

  drop(keyspace: string): void {
    this.of(keyspace).drop(keyspace)
    this.#byKeyspace.delete(keyspace)
  }

  start(): void {
    for (const mirror of this.mirrors) mirror.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.mirrors.map(mirror => mirror.stop()))
  }

  /** The contents of a keyspace, fresh as asked for: see `FreshnessGate`. */
  read(keyspace: string, options: ReadOptions): ReadOutcome | Promise<ReadOutcome> {
    const mirrored = this.#byKeyspace.get(keyspace)
    if (mirrored === undefined) return Promise.reject(notMirrored(keyspace))
    const { mirror, place } = mirrored
    return mirror.gate.read(place.keyspace, place.feed, options)
  }

  /** The keyspace with its history: see `Mirror.keyspace`. */
  keyspace(name: string): MirroredKeyspace {
    return this.of(name).keyspace(name)
  }

  /** The revision up to which nothing is missing in a keyspace. */
  proven(name: string): Revision {
    return this.of(name).proven(name)
  }

  compactRevision(name: string): Revision {
    return this.of(name).compactRevision
  }

  isOfOldEpoch(name: string, revision: Revision): boolean {
    return this.of(name).isOfOldEpoch(revision)
  }

  readDirectly(name: string, request: DirectReadRequest): AsyncIterable<RangePage> {
    return this.of(name).directReads.read(request)
  }

  /** Requests the progress of every etcd that holds one of these keyspaces, for bookmarks that are
   *  due. Keyspaces that are not mirrored any more are ignored. */
  refresh(names: Iterable<string>): void {
    const wanted = [...names]
    for (const mirror of this.mirrors) {
      mirror.refresh(wanted.filter(name => this.#byKeyspace.get(name)?.mirror === mirror))
    }
  }

  statuses(): KeyspaceStatus[] {
    return this.mirrors.flatMap(mirror => mirror.statuses())
  }

  outage(): string | undefined {
    for (const { probe } of this.mirrors) {
      if (probe.outage.problem !== undefined) return probe.outage.problem
    }
    return undefined
  }

  get unansweredMs(): number {
    return Math.max(0, ...this.mirrors.map(({ probe }) => probe.outage.lastsMs))
  }

  get waitingReads(): number {
    return this.mirrors.reduce((sum, mirror) => sum + mirror.waitingReads, 0)
  }
}

function notMirrored(keyspace: string): CacheError {
  return new CacheError('not_found', `keyspace ${keyspace} is not mirrored`)
}
