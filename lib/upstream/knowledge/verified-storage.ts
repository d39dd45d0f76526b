/** The keyspaces for which a check has shown that the upstream stores its objects where the mirror reads them (storage-check.ts). Each
 *  keyspace is checked at start, when a resource gets its first object, and then periodically, because the upstream may be restarted
 *  with other flags. */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import type { Key } from '../../base/keys.ts'
import type { Logger } from '../../base/logger.ts'
import type { Random } from '../../base/random.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { StorageFinding } from './storage-check.ts'

/** The values are those of the metric `watchglass_upstream_keyspaces`. */
export type StorageState = StorageFinding | 'unknown'

export interface VerifiedStorageOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Every keyspace that should be checked now, with a resource that the upstream lists and that is stored there. */
  readonly wanted: () => ReadonlyMap<Key, Resource>
  readonly checkStorage: (resource: Resource, signal: AbortSignal) => Promise<StorageFinding>
}

/** Checks that run at the same time: each costs the upstream a small list. */
const underWayMax = 4
/** A check that was not answered, or has found a difference, is repeated with growing pauses. */
const retryFirstMs = 500
const retryMaxMs = 60_000
/** A keyspace that was found the same is checked again after this time. */
const againMs = 600_000

interface Entry {
  state: StorageState
  attempts: number
  dueMs: number
  isUnderWay: boolean
}

export class VerifiedStorage {
  readonly #options: VerifiedStorageOptions
  readonly #entries = new Map<Key, Entry>()
  readonly #stopped = new AbortController()
  #underWay = 0
  #cancel: CancelTimer = () => {}

  constructor(options: VerifiedStorageOptions) {
    this.#options = options
  }

  stateOf(keyspace: Key): StorageState {
    return this.#entries.get(keyspace)?.state ?? 'unknown'
  }

  /** How many keyspaces are in each state. */
  counts(): Record<StorageState, number> {
    const counts: Record<StorageState, number> = { proven: 0, empty: 0, differs: 0, unknown: 0 }
    for (const keyspace of this.#options.wanted().keys()) counts[this.stateOf(keyspace)]++
    return counts
  }

  /** A keyspace has changed: one that was empty can be checked now. */
  changed(keyspace: Key): void {
    const entry = this.#entries.get(keyspace)
    if (entry?.state !== 'empty' || entry.attempts === 0) return
    entry.attempts = 0
    entry.dueMs = this.#options.clock.monotonicMs()
    this.#schedule()
  }

  /** There may be more keyspaces to check than before. */
  look(): void {
    this.#schedule()
  }

  stop(): void {
    this.#stopped.abort()
    this.#cancel()
  }

  #schedule(): void {
    if (this.#stopped.signal.aborted) return
    this.#cancel()
    this.#cancel = this.#options.clock.setTimer(0, this.#run)
  }

  readonly #run = (): void => {
    const { clock, wanted } = this.#options
    const nowMs = clock.monotonicMs()
    let nextMs = Number.POSITIVE_INFINITY
    for (const [keyspace, resource] of wanted()) {
      const entry = this.#entry(keyspace)
      if (entry.isUnderWay) continue
      if (entry.dueMs > nowMs) nextMs = Math.min(nextMs, entry.dueMs)
      else if (this.#underWay < underWayMax) void this.#check(keyspace, resource, entry)
    }
    if (nextMs < Number.POSITIVE_INFINITY && !this.#stopped.signal.aborted) {
      this.#cancel = clock.setTimer(nextMs - nowMs, this.#run)
    }
  }

  #entry(keyspace: Key): Entry {
    const known = this.#entries.get(keyspace)
    if (known !== undefined) return known
    const entry: Entry = { state: 'unknown', attempts: 0, dueMs: 0, isUnderWay: false }
    this.#entries.set(keyspace, entry)
    return entry
  }

  async #check(keyspace: Key, resource: Resource, entry: Entry): Promise<void> {
    const { clock, random, checkStorage } = this.#options
    entry.isUnderWay = true
    this.#underWay++
    let failure: CacheError | undefined
    let finding: StorageFinding | undefined
    try {
      finding = await checkStorage(resource, this.#stopped.signal)
    } catch (error) {
      failure = CacheError.from(error, 'upstream_failed')
    }
    entry.isUnderWay = false
    this.#underWay--
    entry.attempts++
    this.#note(keyspace, resource, { entry, finding, failure })
    const isSettled = entry.state === 'proven' && finding === 'proven'
    const retryMs = Math.min(retryMaxMs, retryFirstMs * 2 ** Math.min(entry.attempts - 1, 10))
    const pauseMs = isSettled ? againMs : retryMs
    entry.dueMs = clock.monotonicMs() + pauseMs * (0.5 + random.next() / 2)
    this.#schedule()
  }

  /** A check that was not answered changes nothing. */
  #note(
    keyspace: Key,
    { resource, group }: Resource,
    found: { entry: Entry; finding: StorageFinding | undefined; failure: CacheError | undefined },
  ): void {
    const { logger } = this.#options
    const { entry, finding, failure } = found
    const fields = { resource, group, keyspace }
    if (finding === undefined) {
      if (entry.attempts === 1 && !this.#stopped.signal.aborted) {
        logger.warn('the storage of a resource could not be checked against the upstream', {
          ...fields,
          reason: failure?.message,
        })
      }
      return
    }
    if (finding === 'proven') entry.attempts = 0
    if (finding === entry.state) return
    if (finding === 'differs') {
      logger.warn(
        'the upstream has other objects than the mirror: requests for this resource go to the upstream',
        fields,
      )
    } else logger.debug('checked storage against the upstream', { ...fields, finding })
    entry.state = finding
  }
}
