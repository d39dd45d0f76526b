/** Which keyspaces are proven to be the upstream's: asked at start, when a resource gets its first object, and again from time to time,
 *  because the upstream may be started anew with other flags. */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import type { Key } from '../../base/keys.ts'
import type { Logger } from '../../base/logger.ts'
import type { Random } from '../../base/random.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import type { Proof } from './storage-check.ts'

export type ProofState = Proof | 'unknown'

export interface ProofsOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** Every keyspace that is to be proven now, with a resource that the upstream lists and that is stored there. */
  readonly wanted: () => ReadonlyMap<Key, Resource>
  readonly prove: (resource: Resource, signal: AbortSignal) => Promise<Proof>
}

/** Probes under way at once: each costs the upstream a small list. */
const underWayMax = 4
/** What was not answered, or differed, is asked again soon, and then less and less often. */
const retryFirstMs = 500
const retryMaxMs = 60_000
/** What was proven is asked again. */
const againMs = 600_000

interface Entry {
  state: ProofState
  attempts: number
  dueMs: number
  isUnderWay: boolean
}

export class Proofs {
  readonly #options: ProofsOptions
  readonly #entries = new Map<Key, Entry>()
  readonly #stopped = new AbortController()
  #underWay = 0
  #cancel: CancelTimer = () => {}

  constructor(options: ProofsOptions) {
    this.#options = options
  }

  stateOf(keyspace: Key): ProofState {
    return this.#entries.get(keyspace)?.state ?? 'unknown'
  }

  /** How many keyspaces are in each state. */
  counts(): Record<ProofState, number> {
    const counts: Record<ProofState, number> = { proven: 0, empty: 0, differs: 0, unknown: 0 }
    for (const keyspace of this.#options.wanted().keys()) counts[this.stateOf(keyspace)]++
    return counts
  }

  /** A keyspace has changed: one that was empty may be proven now. */
  changed(keyspace: Key): void {
    const entry = this.#entries.get(keyspace)
    if (entry?.state !== 'empty' || entry.attempts === 0) return
    entry.attempts = 0
    entry.dueMs = this.#options.clock.monotonicMs()
    this.#schedule()
  }

  /** What is wanted may be more than before. */
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
      else if (this.#underWay < underWayMax) void this.#prove(keyspace, resource, entry)
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

  async #prove(keyspace: Key, resource: Resource, entry: Entry): Promise<void> {
    const { clock, random, prove } = this.#options
    entry.isUnderWay = true
    this.#underWay++
    let failure: CacheError | undefined
    let proof: Proof | undefined
    try {
      proof = await prove(resource, this.#stopped.signal)
    } catch (error) {
      failure = CacheError.from(error, 'upstream_failed')
    }
    entry.isUnderWay = false
    this.#underWay--
    entry.attempts++
    this.#note(keyspace, resource, { entry, proof, failure })
    const isSettled = entry.state === 'proven' && proof === 'proven'
    const retryMs = Math.min(retryMaxMs, retryFirstMs * 2 ** Math.min(entry.attempts - 1, 10))
    const pauseMs = isSettled ? againMs : retryMs
    entry.dueMs = clock.monotonicMs() + pauseMs * (0.5 + random.next() / 2)
    this.#schedule()
  }

  /** A question that was not answered leaves what was known. */
  #note(
    keyspace: Key,
    { resource, group }: Resource,
    found: { entry: Entry; proof: Proof | undefined; failure: CacheError | undefined },
  ): void {
    const { logger } = this.#options
    const { entry, proof, failure } = found
    const fields = { resource, group, keyspace }
    if (proof === undefined) {
      if (entry.attempts === 1 && !this.#stopped.signal.aborted) {
        logger.warn('the upstream could not be compared', { ...fields, reason: failure?.message })
      }
      return
    }
    if (proof === 'proven') entry.attempts = 0
    if (proof === entry.state) return
    if (proof === 'differs') {
      logger.warn('the upstream has other objects than the mirror: requests for them pass', fields)
    } else logger.debug('compared with the upstream', { ...fields, proof })
    entry.state = proof
  }
}
