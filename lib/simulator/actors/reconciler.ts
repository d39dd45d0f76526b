/** One kind of object that a controller looks after: reads the object and what else the controller
 *  needs, asks it what is to be written, and writes it. */

import type { Clock, Key } from '@watchglass/base'
import type { ObjectPlace } from '../controllers/cluster.ts'
import { KeyedTimers } from '../controllers/keyed-timers.ts'
import type { ActorApi } from './actor-api.ts'
import type { EventRecorder, EventSource, Note } from './event-recorder.ts'
import type { Metadata } from './objects.ts'
import { doWrites, type Outcome } from './outcome.ts'

/** The object, and the present time. */
export interface Seen<T> {
  readonly key: Key
  readonly object: T
  readonly now: string
  readonly nowMs: number
}

export interface ReconcilerOptions<T, Rest> {
  readonly api: ActorApi
  readonly clock: Clock
  readonly events: Pick<EventRecorder, 'tell'>
  /** Under whose name it writes and tells. */
  readonly source: EventSource
  /** The object is to be passed to `work` soon. */
  readonly lookAt: (key: Key) => void
  /** The other things that are there. */
  readonly gather: (object: T, key: Key) => Rest | Promise<Rest>
  readonly reconcile: (seen: Seen<T> & Rest) => Outcome
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

  async work(key: Key): Promise<void> {
    const { api, clock, gather, reconcile, lookAt, events, source } = this.#options
    this.#timers.cancel(key)
    const found = await api.read<T>(key)
    if (found === undefined) return
    const rest = await gather(found.object, key)
    const seen = { key, object: found.object, now: api.now, nowMs: clock.wallMs() }
    const { writes, notes = [], againMs } = reconcile({ ...seen, ...rest })
    const about = { ...kindOf(found.place), metadata: found.object.metadata }
    const tell = (note: Note): void => events.tell(source, about, note)
    await doWrites(api, writes, tell)
    for (const note of notes) tell(note)
    if (againMs !== undefined) this.#timers.set(key, againMs, () => lookAt(key))
  }

  stop(): void {
    this.#timers.stop()
  }
}

export function kindOf({ resource }: ObjectPlace): { apiVersion: string; kind: string } {
  const { group, version, kind } = resource
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind }
}
