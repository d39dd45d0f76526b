/** Stored objects, changes and reads of the mirror, and requests to etcd, under the names of
 *  kube-apiserver. Counts are kept by keyspace; the names of resources are looked up when they are
 *  shown. */

import { Buckets, seriesMax } from '../../tally.ts'
import type { KeyspaceFacts } from '../keyspace-gauges.ts'
import { bucketsOf, type Series, familyText } from './exposition.ts'

/** The resource of a keyspace. */
export interface StoredResource {
  readonly group: string
  readonly resource: string
}

/** An operation of etcd, as kube-apiserver calls it. */
export type EtcdOperation = 'get' | 'list' | 'create' | 'update' | 'delete'

/** The counts of one keyspace. */
interface StorageCounts {
  changes: number
  reloads: number
  readonly waits: Buckets
  /** Consistent reads: answered from the mirror, left to others, failed. */
  readonly consistent: { mirror: number; elsewhere: number; failed: number }
  readonly etcd: Map<EtcdOperation, Buckets>
}

/** A read that required a revision, and who answered it. */
interface WaitedRead {
  readonly waitedMs: number
  readonly from: 'mirror' | 'elsewhere' | 'failed'
  readonly isConsistent: boolean
}

export interface StorageSources {
  /** Undefined in a thread that does not mirror them itself. */
  readonly keyspaces: (() => readonly KeyspaceFacts[]) | undefined
  /** Undefined for a keyspace whose resource is gone. */
  readonly resourceOf: (keyspace: string) => StoredResource | undefined
}

/** The keyspace of requests that concern no resource. */
const noKeyspace = ''

export class StorageSeriesTable {
  readonly #counts = new Map<string, StorageCounts>()
  #sources: StorageSources = { keyspaces: undefined, resourceOf: () => undefined }

  /** Sets what is shown of keyspaces. Called once. */
  show(sources: StorageSources): void {
    this.#sources = sources
  }

  /** etcd has sent changes of a keyspace. */
  changed(keyspace: string, changes: number): void {
    this.#of(keyspace).changes += changes
  }

  /** A keyspace was loaded anew, after the first time. */
  reloaded(keyspace: string): void {
    this.#of(keyspace).reloads++
  }

  /** A read that requires a revision has waited for it. */
  waited(keyspace: string, { waitedMs, from, isConsistent }: WaitedRead): void {
    const { waits, consistent } = this.#of(keyspace)
    waits.observe(waitedMs / 1000)
    if (isConsistent) consistent[from]++
  }

  /** etcd has answered. */
  asked(operation: EtcdOperation, keyspace: string | undefined, tookMs: number): void {
    const { etcd } = this.#of(keyspace ?? noKeyspace)
    let seconds = etcd.get(operation)
    if (seconds === undefined) {
      seconds = bucketsOf('etcd_request_duration_seconds')
      etcd.set(operation, seconds)
    }
    seconds.observe(tookMs / 1000)
  }

  text(): string {
    const etcd = this.#series(({ etcd }, { group, resource }) =>
      [...etcd].map(([operation, seconds]) => [[operation, group, resource], seconds]),
    )
    const waits = this.#series(({ waits }, { group, resource }) =>
      waits.count === 0 ? [] : [[[group, resource], waits]],
    )
    const consistent = this.#series(({ consistent }, { group, resource }) => [
      [[group, resource, 'true', 'false'], consistent.mirror],
      [[group, resource, 'true', 'true'], consistent.elsewhere],
      [[group, resource, 'false', 'false'], consistent.failed],
    ]).filter(([, count]) => count !== 0)
    return [
      ...(this.#sources.keyspaces === undefined
        ? []
        : this.#ofKeyspaces(this.#sources.keyspaces())),
      familyText('apiserver_watch_cache_read_wait_seconds', waits),
      familyText('apiserver_watch_cache_consistent_read_total', consistent),
      familyText(
        'etcd_requests_total',
        etcd.map(([labels, seconds]) => [labels, seconds instanceof Buckets ? seconds.count : 0]),
      ),
      familyText('etcd_request_duration_seconds', etcd),
    ].join('\n')
  }

  #ofKeyspaces(keyspaces: readonly KeyspaceFacts[]): string[] {
    const all = keyspaces.slice(0, seriesMax).flatMap(facts => {
      const name = this.#sources.resourceOf(facts.name)
      return name === undefined ? [] : [{ facts, name, counts: this.#counts.get(facts.name) }]
    })
    const gauge = (valueOf: (one: (typeof all)[number]) => number | undefined): Series[] =>
      all.flatMap(one => {
        const value = valueOf(one)
        return value === undefined ? [] : [[[one.name.group, one.name.resource], value]]
      })
    const stored = all.map(({ facts, name }): Series => [[fullName(name)], facts.entries])
    const changes = gauge(({ counts }) => counts?.changes ?? 0)
    return [
      familyText(
        'apiserver_resource_objects',
        gauge(({ facts }) => facts.entries),
      ),
      familyText(
        'apiserver_resource_size_estimate_bytes',
        gauge(({ facts }) => facts.bytes),
      ),
      familyText('apiserver_storage_objects', stored),
      familyText('etcd_object_counts', stored),
      familyText('apiserver_watch_cache_events_received_total', changes),
      familyText('apiserver_watch_cache_events_dispatched_total', changes),
      familyText(
        'apiserver_watch_cache_initializations_total',
        gauge(({ facts, counts }) => Number(facts.state !== 'starting') + (counts?.reloads ?? 0)),
      ),
      familyText(
        'apiserver_watch_cache_resource_version',
        leastOf(gauge(({ facts }) => facts.revision)),
      ),
    ]
  }

  #series(make: (counts: StorageCounts, name: StoredResource) => Series[]): Series[] {
    return [...this.#counts].flatMap(([keyspace, counts]) => {
      const name = keyspace === noKeyspace ? nothing : this.#sources.resourceOf(keyspace)
      return name === undefined ? [] : make(counts, name)
    })
  }

  #of(keyspace: string): StorageCounts {
    const known = this.#counts.get(keyspace)
    if (known !== undefined) return known
    if (this.#counts.size >= seriesMax && keyspace !== noKeyspace) return this.#of(noKeyspace)
    const made: StorageCounts = {
      changes: 0,
      reloads: 0,
      waits: bucketsOf('apiserver_watch_cache_read_wait_seconds'),
      consistent: { mirror: 0, elsewhere: 0, failed: 0 },
      etcd: new Map(),
    }
    this.#counts.set(keyspace, made)
    return made
  }
}

/** The least of each resource: where its namespaces are mirrored apart, it has several. */
function leastOf(series: readonly Series[]): Series[] {
  const least = new Map<string, Series>()
  for (const one of series) {
    const name = one[0].join(' ')
    const known = least.get(name)
    if (known === undefined || one[1] < known[1]) least.set(name, one)
  }
  return [...least.values()]
}

const nothing: StoredResource = { group: '', resource: '' }

/** `pods`, `deployments.apps`. */
function fullName({ group, resource }: StoredResource): string {
  return group === '' ? resource : `${resource}.${group}`
}
