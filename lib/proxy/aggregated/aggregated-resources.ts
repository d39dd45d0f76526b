/** The resources of an aggregated API server behind us. They are found in its discovery and located
 *  in its etcd, and how they are written is learnt from the server's answers.
 *
 *  ```
 *  unknown ── located ──▶ mirrored ── learnt ──▶ answered
 *     ▲          │            │ one side has other objects, a version needs a conversion, …
 *     │          ▼            ▼
 *     └─────── passes, and is looked at again ◀── the server was away, or lists other versions
 *  ``` */

import {
  CacheError,
  type Clock,
  type Key,
  keyFromText,
  LinkedAbort,
  type Logger,
  type Random,
  type Revision,
} from '@watchglass/base'
import type { Schema } from '@watchglass/codec'
import type { Resource } from '@watchglass/kube'
import { canBeRead, type ListedResource, type UpstreamResources } from './upstream-resources.ts'
import type { Snapshot } from '@watchglass/store'
import { type DueTask, DueTasks } from '../upstream/due-tasks.ts'
import type { Upstream } from '../upstream/upstream.ts'
import {
  aggregatedResource,
  type Declared,
  type Location,
  unlocatedResource,
} from './aggregated-resource.ts'
import { findStorage } from './find-storage.ts'
import { learn } from './learn.ts'
import { empty, notLooked, type Standing, type Version, versionOf } from './standing.ts'
import type { EtcdKeys } from './locate.ts'

export interface AggregatedOptions {
  readonly upstream: Pick<Upstream, 'call'>
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly etcd: EtcdKeys
  readonly schema: () => Schema
  /** `/registry` */
  readonly root: string
  /** The operator's declaration; undefined if there is none. */
  readonly declared: (named: Named) => Declared | undefined
  /** The keyspace can be mirrored. */
  readonly covers: (keyspace: Key) => boolean
  /** The keyspace has contents. */
  readonly isServed: (keyspace: Key) => boolean
  readonly at: (keyspace: Key, revision: Revision, signal: AbortSignal) => Promise<Snapshot>
  /** `resources` has changed. */
  readonly onChanged: () => void
}

interface Named {
  readonly group: string
  readonly resource: string
}

/** One resource, in all its versions. */
interface Entry extends DueTask {
  listed: readonly ListedResource[]
  location: Location | undefined
  /** The location is the usual one of such servers: no object was seen yet. */
  isGuessed: boolean
  remark: string | undefined
  /** The standing of all its versions while there is no location. */
  standing: Standing
  versions: ReadonlyMap<string, Version>
  isSettled: boolean
  /** True once the server has answered all questions. */
  isWhole: boolean
  /** Times that the server may have become another one, and how many of them were looked into. What
   *  was learnt holds until the server answers. */
  doubts: number
  settledDoubts: number
  /** True while the resource waits until its keyspace has contents, or an object. */
  isWaiting: boolean
  attempts: number
  /** JSON of the output that was shown before it was looked at. */
  shown: string
}

/** Resources that are examined at the same time. */
const underWayMax = 2
const retryFirstMs = 250
const retryMaxMs = 10_000
/** The interval after which a resource is learnt again. */
const againMs = 600_000
/** Something could not be learnt for want of objects. */
const incompleteMs = 30_000

export class AggregatedResources {
  readonly #options: AggregatedOptions
  readonly #entries = new Map<string, Entry>()
  readonly #looks: DueTasks<Entry>

  constructor(options: AggregatedOptions) {
    this.#options = options
    const { clock, random } = options
    this.#looks = new DueTasks({
      clock,
      random,
      underWayMax,
      tasks: () => this.#entries.values(),
      work: (entry, signal) => this.#look(entry, signal),
      onDone: entry => this.#looked(entry),
    })
  }

  /** The resources whose storage is known, for the registry. */
  get resources(): readonly Resource[] {
    return [...this.#entries.values()].flatMap(entry => resourcesOf(entry))
  }

  has({ group, resource }: Named): boolean {
    return this.#entries.has(nameOf({ group, resource }))
  }

  /** Another text whenever what was found out about the resource is of no use any more. */
  stateOf({ group, resource, learned }: Resource): string {
    const entry = this.#entries.get(nameOf({ group, resource }))
    return `${entry?.settledDoubts} ${learned?.generation}`
  }

  /** Why a version is not answered here; undefined if it is. */
  standingOf({ group, version, resource }: Resource): Standing | undefined {
    const entry = this.#entries.get(nameOf({ group, resource }))
    if (entry === undefined) return { ...notLooked, reason: 'not-listed' }
    const known = entry.versions.get(version)
    return known === undefined ? entry.standing : known.standing
  }

  /** The disagreement of discovery with etcd; undefined if there is none. */
  remarkOf(named: Named): string | undefined {
    return this.#entries.get(nameOf(named))?.remark
  }

  /** Takes what the server lists now. Those of `isOurs` are known from nowhere else. */
  listed(listed: UpstreamResources, isOurs: (one: ListedResource) => boolean): void {
    const found = new Map<string, ListedResource[]>()
    for (const one of listed.all) {
      if (!canBeRead(one) || !isOurs(one)) continue
      const name = nameOf(one)
      found.set(name, [...(found.get(name) ?? []), one])
    }
    let isChanged = false
    for (const name of this.#entries.keys()) {
      if (!found.has(name)) isChanged = this.#entries.delete(name) || isChanged
    }
    for (const [name, versions] of found) {
      const entry = this.#entries.get(name)
      if (entry !== undefined && sameValue(entry.listed, versions)) continue
      isChanged = true
      this.#entries.set(name, this.#renewed(versions, entry))
    }
    if (isChanged) this.#options.onChanged()
    this.#looks.look()
  }

  /** The server did not answer for a while and may be another one now. It is learnt again, and
   *  compared anew once it has answered: while it has no answers, what is known is used. */
  serverIsBack(): void {
    for (const entry of this.#entries.values()) {
      entry.doubts++
      entry.attempts = 0
      entry.dueMs = 0
    }
    this.#looks.look()
  }

  /** A keyspace has other contents, or another state. */
  changed(keyspace: Key): void {
    for (const entry of this.#entries.values()) {
      const { location, isWaiting } = entry
      if (!isWaiting || location === undefined) continue
      if (keyFromText(location.prefix) !== keyspace) continue
      entry.attempts = 0
      entry.dueMs = 0
      this.#looks.look()
    }
  }

  /** Keyspaces have new states: those that were waited for may have contents. */
  served(): void {
    for (const entry of this.#entries.values()) if (entry.isWaiting) entry.dueMs = 0
    this.#looks.look()
  }

  stop(): void {
    this.#looks.stop()
  }

  /** Forgets what was learnt. The location is kept, so that the mirror of the objects is kept. */
  #renewed(listed: readonly ListedResource[], before: Entry | undefined): Entry {
    const entry = newEntry(listed)
    if (before?.location === undefined) return entry
    const { location, isGuessed, doubts, settledDoubts } = before
    const kept = { ...entry, doubts: doubts + 1, settledDoubts }
    return { ...kept, location, isGuessed, versions: this.#unproven(listed, location, notLooked) }
  }

  #unproven(
    listed: readonly ListedResource[],
    location: Location,
    standing: Standing,
  ): ReadonlyMap<string, Version> {
    return new Map(
      listed.map(one => {
        const base = aggregatedResource(one, location, this.#options.declared(one))
        return [one.version, { base, resource: base, standing }]
      }),
    )
  }

  async #look(entry: Entry, stopped: AbortSignal): Promise<number> {
    entry.shown = JSON.stringify(shownOf(entry))
    const { doubts } = entry
    // A look asks some questions at once: they listen to a signal of its own.
    const look = new LinkedAbort(stopped)
    try {
      await this.#settle(entry, look.signal)
      entry.settledDoubts = doubts
    } catch (error) {
      const { message } = CacheError.from(error, 'upstream_failed')
      entry.isSettled = false
      if (entry.versions.size === 0 || entry.attempts > 0) {
        entry.standing = { ...notLooked, why: `it could not be compared: ${message}` }
      }
      if (entry.attempts === 1 && !stopped.aborted) {
        this.#options.logger.warn('a resource could not be compared with its server', {
          name: nameIn(entry),
          reason: message,
        })
      }
    }
    look.release()
    entry.attempts++
    if (entry.isSettled) entry.attempts = 0
    if (entry.doubts !== doubts) return 0
    if (entry.isSettled) return isComplete(entry) ? againMs : incompleteMs
    return Math.min(retryMaxMs, retryFirstMs * 2 ** Math.min(entry.attempts, 8))
  }

  #looked(entry: Entry): void {
    const isCurrent = this.#entries.get(nameIn(entry)) === entry
    if (isCurrent && JSON.stringify(shownOf(entry)) !== entry.shown) this.#options.onChanged()
  }

  /** Takes as many steps as are possible now, one after the other. */
  async #settle(entry: Entry, signal: AbortSignal): Promise<void> {
    if (entry.location === undefined || entry.isGuessed) await this.#locate(entry, signal)
    const { location } = entry
    if (location === undefined) return
    const keyspace = keyFromText(location.prefix)
    entry.isWaiting = entry.isGuessed || !this.#options.isServed(keyspace)
    if (entry.isWaiting) return
    const { upstream, at, clock, schema } = this.#options
    const versions = new Map<string, Version>()
    let isWhole = true
    for (const [name, known] of entry.versions) {
      const { base } = known
      const learnt = await learn({
        upstream,
        resource: {
          ...base,
          isWatchCached: known.resource.isWatchCached,
          learned: known.resource.learned ?? base.learned,
        },
        at: revision => at(keyspace, revision, signal),
        schema: schema(),
        clock,
        signal,
      })
      versions.set(name, versionOf(base, learnt, known))
      if (learnt.type === 'learnt') isWhole &&= learnt.isWhole
      // The objects are elsewhere, or all are deleted: the location is searched again.
      if (learnt.type === 'differs') entry.isGuessed = true
      if (learnt.type === 'empty') entry.isWaiting = true
    }
    entry.versions = versions
    entry.isWhole = isWhole
    entry.isSettled = [...versions.values()].every(
      ({ standing }) => standing === undefined || standing.reason === 'conversion',
    )
  }

  async #locate(entry: Entry, signal: AbortSignal): Promise<void> {
    const { upstream, etcd, root, declared, covers, logger } = this.#options
    const [first] = entry.listed
    if (first === undefined) return
    const { group, resource } = first
    const given = declared(first)
    const search = { upstream, etcd, root, declared: given, signal }
    const found = await findStorage({ ...search, listed: entry.listed })
    if (found.type === 'passes') {
      const { why, remedy } = found
      if (entry.standing.why !== why) {
        logger.warn('a resource is left to its server', { group, resource, why, remedy })
      }
      entry.location = undefined
      entry.standing = found
      return
    }
    entry.isGuessed = found.type === 'empty'
    if (found.type === 'empty') {
      entry.standing = empty
      entry.location = this.#guess(first, given)
    } else if (covers(keyFromText(found.location.prefix))) {
      entry.remark = found.remark
      if (sameValue(entry.location, found.location)) return
      entry.location = found.location
    } else {
      entry.location = undefined
      const why = `it is stored under ${found.location.prefix}, which is outside of what is mirrored (${root}/)`
      entry.standing = { reason: 'not-found-in-etcd', why, remedy: 'start with another --prefix' }
    }
    if (entry.location === undefined) return
    const { location, standing, isGuessed } = entry
    entry.versions = this.#unproven(entry.listed, location, isGuessed ? standing : notLooked)
    this.#options.onChanged()
  }

  /** The probable location of its objects: beside those of another resource of the group, or the
   *  usual one. */
  #guess(
    { group, version, resource, kind }: ListedResource,
    given: Declared | undefined,
  ): Location {
    const sibling = [...this.#entries.values()].find(
      ({ listed, location, isGuessed }) =>
        !isGuessed && location !== undefined && listed[0]?.group === group,
    )
    const beside = sibling?.location?.prefix.replace(/(?<=^|\/)[^/]+\/$/, `${resource}/`)
    const prefix = given?.prefix ?? beside ?? `${this.#options.root}/${group}/${resource}/`
    return { prefix, group, version: given?.storedVersion ?? version, kind }
  }
}

function newEntry(listed: readonly ListedResource[]): Entry {
  return {
    listed,
    location: undefined,
    isGuessed: false,
    remark: undefined,
    standing: notLooked,
    versions: new Map(),
    isSettled: false,
    isWhole: false,
    doubts: 0,
    settledDoubts: 0,
    isWaiting: false,
    attempts: 0,
    shown: '',
    dueMs: 0,
    isUnderWay: false,
  }
}

function nameIn({ listed: [first] }: Entry): string {
  return first === undefined ? '' : nameOf(first)
}

/** All versions, also those that are known by name only: they pass, with a reason. */
function resourcesOf({ listed, versions }: Entry): Resource[] {
  return listed.map(one => versions.get(one.version)?.resource ?? unlocatedResource(one))
}

/** A version that no object is served in as it is stored may have such objects later. */
function isComplete({ versions, isWhole }: Entry): boolean {
  const all = [...versions.values()]
  return (
    isWhole &&
    all.every(
      ({ resource, standing }) =>
        standing?.reason !== 'conversion' && resource.learned?.isWatchCacheKnown !== false,
    )
  )
}

/** A text that changes when the resources change. */
function shownOf({ versions, standing }: Entry): unknown {
  return [standing, [...versions.values()]]
}

function nameOf({ group, resource }: Named): string {
  return group === '' ? resource : `${resource}.${group}`
}

function sameValue(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
