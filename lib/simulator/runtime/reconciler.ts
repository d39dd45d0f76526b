/** The loop of one kind of object: finds the object, gathers what else its reconciler needs, asks
 *  it what is to be done, and does it. All that is not pure about a controller is here: clock,
 *  timers, reads and writes. Whose turn it is, and the pause after a failure, are those of its
 *  queue (`work-queue.ts`). */

import type { Clock, Key } from '@watchglass/base'
import { textFromMilliseconds } from '@watchglass/go'
import type { ApiClient } from './api-client.ts'
import type { ApiPlace } from './cluster-api.ts'
import type { About, EventRecorder, EventSource, Note } from './event-recorder.ts'
import { KeyedTimers } from './keyed-timers.ts'
import type { Metadata } from './objects.ts'
import { doWrites, RefusedWrite, type ReconcileResult, StaleStamp } from './reconcile-result.ts'

/** The object, and the present time. */
export interface Seen<T> {
  readonly key: Key
  readonly object: T
  readonly now: string
  readonly nowMs: number
}

export interface ReconcilerOptions<T, Rest> {
  readonly api: ApiClient
  readonly clock: Clock
  readonly events: Pick<EventRecorder, 'tell'>
  /** The component in whose name Events are told, unless a note has its own. */
  readonly source: EventSource
  /** The object is to be passed to `work` soon. */
  readonly lookAt: (key: Key) => void
  /** False: somebody else looks after the object now. */
  readonly isDue?: ((key: Key) => boolean) | undefined
  /** The object, and what Events about it name; undefined: it is read from the store. */
  readonly find?: ((key: Key) => Promise<FoundSubject<T> | undefined>) | undefined
  /** The other things that the reconciler needs. Chance and memory of former looks come from
   *  here. */
  readonly gather: (object: T, key: Key) => Rest | Promise<Rest>
  readonly reconcile: (seen: Seen<T> & Rest) => ReconcileResult
  /** The answer to a write that the API has refused: a status and Events that say so. The object is
   *  looked at again after a pause, whatever the answer. */
  readonly refused?: ((seen: Seen<T> & Rest, refusal: RefusedWrite) => ReconcileResult) | undefined
  /** Takes back what `gather` has taken, when a write has failed. */
  readonly failed?: ((seen: Seen<T> & Rest) => void) | undefined
}

export interface FoundSubject<T> {
  readonly object: T
  readonly about: Pick<About, 'apiVersion' | 'kind'>
}

/** Reconcilers whatever they look after. */
export interface AnyReconciler {
  work(key: Key): Promise<void>
  stop(): void
}

export class Reconciler<T extends { readonly metadata: Metadata }, Rest> implements AnyReconciler {
  readonly #options: ReconcilerOptions<T, Rest>
  readonly #timers: KeyedTimers

  constructor(options: ReconcilerOptions<T, Rest>) {
    this.#options = options
    this.#timers = new KeyedTimers(options.clock)
  }

  /** Looks at the object after a while, unless it is going to be looked at before. */
  lookAfter(key: Key, delayMs: number): void {
    if (!this.#timers.has(key)) this.#timers.set(key, delayMs, () => this.#options.lookAt(key))
  }

  forget(key: Key): void {
    this.#timers.cancel(key)
  }

  async work(key: Key): Promise<void> {
    const { isDue, clock, gather, reconcile, lookAt, failed } = this.#options
    this.#timers.cancel(key)
    if (isDue?.(key) === false) return
    const found = await this.#find(key)
    if (found === undefined) return
    const { object, about } = found
    const rest = await gather(object, key)
    const nowMs = clock.wallMs()
    const seen = { key, object, now: textFromMilliseconds(nowMs), nowMs, ...rest }
    const result = reconcile(seen)
    const whole = { ...about, metadata: object.metadata }
    try {
      await this.#do(whole, result)
    } catch (error) {
      failed?.(seen)
      if (error instanceof StaleStamp) return this.work(key)
      if (error instanceof RefusedWrite) await this.#refused(whole, seen, error)
      throw error
    }
    const { againMs } = result
    if (againMs !== undefined) this.#timers.set(key, againMs, () => lookAt(key))
  }

  stop(): void {
    this.#timers.stop()
  }

  async #find(key: Key): Promise<FoundSubject<T> | undefined> {
    const { api, find } = this.#options
    if (find !== undefined) return find(key)
    const found = await api.find<T>(key)
    return found && { object: found.object, about: kindOf(found.place) }
  }

  async #do(about: About, { writes, notes = [] }: ReconcileResult): Promise<void> {
    const { api, events, source } = this.#options
    const tell = ({ source: own = source, fieldPath, ...note }: Note): void =>
      events.tell(own, fieldPath === undefined ? about : { ...about, fieldPath }, note)
    await doWrites(api, writes, tell)
    notes.forEach(tell)
  }

  async #refused(about: About, seen: Seen<T> & Rest, refusal: RefusedWrite): Promise<void> {
    const answer = this.#options.refused?.(seen, refusal)
    if (answer !== undefined) await this.#do(about, answer)
  }
}

export function kindOf({ resource }: ApiPlace): { apiVersion: string; kind: string } {
  const { group, version, kind } = resource
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind }
}
