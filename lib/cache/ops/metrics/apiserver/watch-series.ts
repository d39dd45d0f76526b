/** Events that watches were sent, under the names of kube-apiserver. A watch keeps the counts of
 *  its resource, so that an event costs no look-up. */

import { type Buckets, seriesMax } from '../../tally.ts'
import { bucketsOf, familyText, type Series } from './exposition.ts'

/** A resource in one version. */
export interface VersionedResource {
  readonly group: string
  readonly version: string
  readonly resource: string
}

/** The events of one resource. */
export class EventCounts {
  readonly sizes: Buckets = bucketsOf('apiserver_watch_events_sizes')
  initial = 0
  terminated = 0

  sent(bytes: number): void {
    this.sizes.observe(bytes)
  }

  /** Counts initial events that were written at once. */
  sentInitially(events: number, bytes: number): void {
    if (events === 0) return
    this.initial += events
    this.sizes.observe(bytes / events, events)
  }

  /** A watch was ended because its client reads too slowly. */
  terminatedSlow(): void {
    this.terminated++
  }
}

export class WatchSeriesTable {
  readonly #events = new Map<string, readonly [VersionedResource, EventCounts]>()
  readonly #lists = new Map<string, readonly [readonly string[], Buckets]>()

  /** The counts of a resource. */
  of(resource: VersionedResource): EventCounts {
    const key = keyOf(resource)
    const known = this.#events.get(key)
    if (known !== undefined) return known[1]
    if (this.#events.size >= seriesMax && resource !== others) return this.of(others)
    const made = new EventCounts()
    const { group, version, resource: name } = resource
    this.#events.set(key, [{ group, version, resource: name }, made])
    return made
  }

  /** A watch has been sent its initial events. */
  listed(resource: VersionedResource, scope: string, tookMs: number): void {
    const key = `${keyOf(resource)} ${scope}`
    let known = this.#lists.get(key)
    if (known === undefined) {
      if (this.#lists.size >= seriesMax && resource !== others) {
        this.listed(others, 'other', tookMs)
        return
      }
      const { group, version, resource: name } = resource
      known = [[group, version, name, scope], bucketsOf('apiserver_watch_list_duration_seconds')]
      this.#lists.set(key, known)
    }
    known[1].observe(tookMs / 1000)
  }

  text(): string {
    const all = [...this.#events.values()]
    const byVersion = (valueOf: (counts: EventCounts) => number | Buckets): Series[] =>
      all.map(([{ group, version, resource }, counts]) => [
        [group, version, resource],
        valueOf(counts),
      ])
    const byGroup = (valueOf: (counts: EventCounts) => number): Series[] =>
      all.map(([{ group, resource }, counts]) => [[group, resource], valueOf(counts)])
    return [
      familyText(
        'apiserver_watch_events_total',
        byVersion(({ sizes }) => sizes.count),
      ),
      familyText(
        'apiserver_watch_events_sizes',
        byVersion(({ sizes }) => sizes),
      ),
      familyText('apiserver_watch_list_duration_seconds', this.#lists.values()),
      familyText(
        'apiserver_init_events_total',
        byGroup(({ initial }) => initial),
      ),
      familyText(
        'apiserver_terminated_watchers_total',
        byGroup(({ terminated }) => terminated),
      ),
    ].join('\n')
  }
}

const others: VersionedResource = { group: 'other', version: 'other', resource: 'other' }

function keyOf({ group, version, resource }: VersionedResource): string {
  return `${resource} ${version} ${group}`
}
