/** The keyspaces for which a check has shown that the upstream stores its objects where the mirror
 *  reads them (storage-check.ts). Each keyspace is checked at start, when a resource gets its first
 *  object, and then periodically, because the upstream may be restarted with other flags.
 *
 *  A keyspace without objects is believed to be shared if the upstream's list of it had the
 *  revision of our etcd twice, and that has risen in between: two etcds may have the same
 *  revision once. The prefix is known by then from another keyspace that has objects. */

import {
  CacheError,
  type Clock,
  type Key,
  type LogFields,
  type Logger,
  type Random,
  type Revision,
} from '@watchglass/base'
import type { Resource } from '@watchglass/kube'
import { UnexpectedAnswer, UpstreamFailure } from '../upstream/failure.ts'
import { type DueTask, DueTasks } from '../upstream/due-tasks.ts'
import type { StorageFinding } from './storage-check.ts'

/** State of a keyspace; the values are those of the metric `watchglass_upstream_keyspaces`.
 *  `shared` has no objects, but lies in our etcd, under our prefix. */
export type StorageState = StorageFinding['type'] | 'shared' | 'unknown'

export interface VerifiedStorageOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Every keyspace that should be checked now, with a resource that the upstream lists and that is
   *  stored there. */
  readonly wanted: () => ReadonlyMap<Key, Resource>
  /** The place under the prefix where the upstream stores the resource is known. */
  readonly isPlaceKnown: (resource: Resource) => boolean
  readonly checkStorage: (resource: Resource, signal: AbortSignal) => Promise<StorageFinding>
}

/** Checks that run at the same time: each costs the upstream a small list. */
const underWayMax = 4
/** A check that was not answered, or has found a difference, is repeated with growing pauses. */
const retryFirstMs = 500
const retryMaxMs = 60_000
/** A keyspace that is answered from is checked again after this time. */
const againMs = 600_000

interface Entry extends DueTask {
  readonly keyspace: Key
  resource: Resource
  state: StorageState
  attempts: number
  /** The revision of our etcd that an empty list of the upstream had first. */
  sharedAt: Revision | undefined
  /** The code with which the upstream refused our account at the last check. */
  refusal: number | undefined
}

export class VerifiedStorage {
  readonly #options: VerifiedStorageOptions
  readonly #entries = new Map<Key, Entry>()
  readonly #checks: DueTasks<Entry>

  constructor(options: VerifiedStorageOptions) {
    this.#options = options
    const { clock, random } = options
    this.#checks = new DueTasks({
      clock,
      random,
      underWayMax,
      tasks: () =>
        [...options.wanted()].map(([keyspace, resource]) => this.#entry(keyspace, resource)),
      work: (entry, signal) => this.#check(entry, signal),
    })
  }

  stateOf(keyspace: Key): StorageState {
    return this.#entries.get(keyspace)?.state ?? 'unknown'
  }

  /** Whether reads of the keyspace may be answered from the mirror. */
  isAnswered(keyspace: Key): boolean {
    const state = this.stateOf(keyspace)
    return state === 'proven' || state === 'shared'
  }

  /** The code with which the upstream refuses our account to list the keyspace: 401 or 403;
   *  undefined if it does not. */
  refusalOf(keyspace: Key): number | undefined {
    return this.#entries.get(keyspace)?.refusal
  }

  /** The number of keyspaces in each state. */
  counts(): Record<StorageState, number> {
    const counts = { proven: 0, shared: 0, empty: 0, differs: 0, unknown: 0 }
    for (const keyspace of this.#options.wanted().keys()) counts[this.stateOf(keyspace)]++
    return counts
  }

  /** A keyspace has changed: one that was empty can be checked by its objects now. One that is
   *  shared is answered from meanwhile: evidence compares each object before it is shown. */
  changed(keyspace: Key): void {
    const entry = this.#entries.get(keyspace)
    if (entry === undefined) return
    const isChecked = entry.attempts > 0
    if (!(entry.state === 'empty' && isChecked) && !(entry.state === 'shared' && !isChecked)) return
    entry.attempts = 0
    entry.dueMs = this.#options.clock.monotonicMs()
    this.#checks.look()
  }

  /** There may be more keyspaces to check than before. */
  look(): void {
    this.#checks.look()
  }

  stop(): void {
    this.#checks.stop()
  }

  #entry(keyspace: Key, resource: Resource): Entry {
    const known = this.#entries.get(keyspace)
    if (known !== undefined) {
      known.resource = resource
      return known
    }
    const entry: Entry = {
      keyspace,
      resource,
      state: 'unknown',
      attempts: 0,
      dueMs: 0,
      isUnderWay: false,
      sharedAt: undefined,
      refusal: undefined,
    }
    this.#entries.set(keyspace, entry)
    return entry
  }

  async #check(entry: Entry, signal: AbortSignal): Promise<number> {
    let finding: StorageFinding | undefined
    try {
      finding = await this.#options.checkStorage(entry.resource, signal)
      entry.refusal = undefined
    } catch (error) {
      if (error instanceof UnexpectedAnswer) entry.refusal = refusalIn(error)
      // A check that was not answered changes nothing.
      const { message: reason } = CacheError.from(error, 'upstream_failed')
      if (entry.attempts === 0 && !signal.aborted) {
        // One that is busy or gone is so for all keyspaces, and that was said.
        const level = error instanceof UpstreamFailure ? 'debug' : 'warn'
        this.#options.logger[level](
          'the storage of a resource could not be checked against the upstream',
          { ...fieldsOf(entry), reason },
        )
      }
    }
    entry.attempts++
    if (finding !== undefined) this.#note(entry, this.#stateAfter(entry, finding))
    if (finding !== undefined && this.isAnswered(entry.keyspace)) return againMs
    return Math.min(retryMaxMs, retryFirstMs * 2 ** Math.min(entry.attempts - 1, 10))
  }

  #stateAfter(entry: Entry, finding: StorageFinding): StorageState {
    if (finding.type !== 'empty') return finding.type
    const { sharedAt } = finding
    const { state, sharedAt: firstAt = sharedAt } = entry
    entry.sharedAt = sharedAt === undefined ? undefined : firstAt
    if (sharedAt === undefined || firstAt === undefined) return 'empty'
    // One that had objects was seen to be ours by them.
    if (state === 'proven' || state === 'shared') return 'shared'
    const isPrefixKnown = [...this.#entries.values()].some(one => one.state === 'proven')
    const isPlaceKnown = isPrefixKnown && this.#options.isPlaceKnown(entry.resource)
    return sharedAt > firstAt && isPlaceKnown ? 'shared' : 'empty'
  }

  #note(entry: Entry, state: StorageState): void {
    const { logger } = this.#options
    if (state === 'proven' || state === 'shared') entry.attempts = 0
    if (state === entry.state) return
    if (state === 'differs') {
      logger.warn(
        'the upstream has other objects than the mirror: requests for this resource go to the upstream',
        fieldsOf(entry),
      )
    } else logger.debug('checked storage against the upstream', { ...fieldsOf(entry), state })
    entry.state = state
  }
}

function refusalIn({ answered }: UnexpectedAnswer): number | undefined {
  return answered === 401 || answered === 403 ? answered : undefined
}

function fieldsOf({ keyspace, resource: { resource, group } }: Entry): LogFields {
  return { resource, group, keyspace }
}
