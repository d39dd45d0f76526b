/** A resource of a mirrored Kubernetes API as etcd's API shows it: its keys, values and revisions
 *  are those that etcd has. When an object was created, and how often it was changed, is not known:
 *  both numbers are 0 then, which etcd has for no key that is there. Known are those of an object
 *  that an event has just created. */

import {
  CacheError,
  type Freshness,
  type Key,
  type KeyRange,
  prefixRange,
  type Revision,
} from '@watchglass/base'
import type { MirroredKeyspace, OwnMirrors, ReadOutcome } from '@watchglass/cache'
import { type Batch, type Event, type Keyspace, KeyValue, type Snapshot } from '@watchglass/store'
import type { MirroredPart } from '../answers/mirrored.ts'
import { failureOf } from '../answers/range-request.ts'

const unknown = 0 as Revision

export class ResourcePart implements MirroredPart {
  readonly name: Key
  readonly range: KeyRange
  readonly #mirrors: OwnMirrors
  readonly #told = new WeakMap<Batch, Batch>()

  constructor(mirrors: OwnMirrors, name: Key) {
    this.#mirrors = mirrors
    this.name = name
    this.range = prefixRange(name)
  }

  get store(): Keyspace {
    return this.#keyspace.store
  }

  get proven(): Revision {
    return this.#mirrors.has(this.name) ? this.#mirrors.proven(this.name) : unknown
  }

  get isServed(): boolean {
    return this.#mirrors.has(this.name) && this.#keyspace.isServed
  }

  /** Bookmarks come after all events that they speak of. */
  get isProgressSound(): boolean {
    return true
  }

  get isCutOff(): boolean {
    return this.#mirrors.has(this.name) && this.#keyspace.state === 'cut-off'
  }

  /** Somebody reads it, or watches it still: it is mirrored from now on, and not let go. */
  want(): void {
    this.#mirrors.want?.(this.name)
  }

  /** Waits until it is mirrored, for no longer than a read may. Fails with `not_ready`. */
  async begin(signal: () => AbortSignal): Promise<void> {
    const outcome = await this.#read({ type: 'any' }, signal, 'nowhere')
    if (outcome.from === 'mirror') return
    throw new CacheError('not_ready', `watchglass: the API does not let ${this.name} be mirrored`)
  }

  async read(freshness: Freshness, signal: () => AbortSignal): Promise<Snapshot> {
    const outcome = await this.#read(freshness, signal, 'anywhere')
    if (outcome.from === 'mirror') return outcome.snapshot
    const why =
      outcome.reason === 'progress-untrusted'
        ? 'nothing has proven in time that its mirror is as new as the API: a serializable range does not need that'
        : `its mirror is ${outcome.reason}`
    throw new CacheError('not_ready', `watchglass: ${this.name} cannot be read now: ${why}`)
  }

  latest(): Snapshot {
    this.#keyspace.advance(this.proven)
    return this.#keyspace.store.latest()
  }

  /** Progress is told as far as it is known: to ask for each would cost the API a watch. */
  refresh(): void {}

  /** A batch is told as one object always: what is made of it is kept with it. */
  readonly told = (batch: Batch): Batch => {
    const known = this.#told.get(batch)
    if (known !== undefined) return known
    const told = { ...batch, events: batch.events.map(toldEvent) }
    this.#told.set(batch, told)
    return told
  }

  get #keyspace(): MirroredKeyspace {
    return this.#mirrors.keyspace(this.name)
  }

  async #read(
    freshness: Freshness,
    signal: () => AbortSignal,
    elsewhere: 'anywhere' | 'nowhere',
  ): Promise<ReadOutcome> {
    const reader = {
      get signal() {
        return signal()
      },
    }
    try {
      return await this.#mirrors.read(this.name, { freshness, elsewhere, reader })
    } catch (error) {
      const failure = CacheError.from(error, 'source_failed')
      if (failure.code !== 'not_ready') throw failureOf(failure)
      throw new CacheError('not_ready', `watchglass: ${failure.message}`)
    }
  }
}

/** The entry, of which neither the creation nor the number of changes is known. */
export function withoutOrigin(entry: KeyValue): KeyValue {
  return withOrigin(entry, { createRevision: unknown, version: 0 })
}

function toldEvent({ key, before, after }: Event): Event {
  if (before !== undefined) {
    return { key, before: withoutOrigin(before), after: after && withoutOrigin(after) }
  }
  const created = after && withOrigin(after, { createRevision: after.modRevision, version: 1 })
  return { key, before, after: created }
}

function withOrigin(
  { key, bytes, start, end, modRevision, lease }: KeyValue,
  origin: Pick<KeyValue, 'createRevision' | 'version'>,
): KeyValue {
  return new KeyValue(key, { bytes, start, end }, { ...origin, modRevision, lease })
}
