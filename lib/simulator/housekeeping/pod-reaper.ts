/** Removes pods when their grace period is over. On a node, the kubelet would stop them and say so;
 *  here there is none, and a pod that waits for it would stay for ever. */

import type { Clock, Key } from '@watchglass/base'
import type { Event } from '@watchglass/store'
import type { ClusterApi } from '../runtime/cluster-api.ts'
import { KeyedTimers } from '../runtime/keyed-timers.ts'
import { type ObjectFacts, factsOf } from './object-facts.ts'

export interface PodReaperOptions {
  readonly cluster: ClusterApi
  readonly clock: Clock
  /** The pod is to be passed to `work` soon. */
  readonly lookAt: (key: Key) => void
}

/** The time of a deletion is cut to its second; no pod has less than the grace that it has got. */
const cutMs = 1_000

export class PodReaper {
  readonly #options: PodReaperOptions
  readonly #timers: KeyedTimers

  constructor(options: PodReaperOptions) {
    this.#options = options
    this.#timers = new KeyedTimers(options.clock)
  }

  /** A pod that was there before. */
  found(key: Key, { deletedAtMs, graceSeconds }: ObjectFacts): void {
    this.#timers.cancel(key)
    // Without grace, it waits for finalizers.
    if (deletedAtMs === undefined || graceSeconds === 0) return
    const { clock, lookAt } = this.#options
    const delayMs = Math.max(0, deletedAtMs + cutMs - clock.wallMs())
    this.#timers.set(key, delayMs, () => lookAt(key))
  }

  changed({ key, after }: Event): void {
    const facts = after === undefined ? undefined : factsOf(after)
    if (facts !== undefined) this.found(key, facts)
    else this.#timers.cancel(key)
  }

  async work(key: Key): Promise<void> {
    const { cluster, clock } = this.#options
    const place = cluster.placeOf(key)
    const entry = await cluster.read(key)
    const facts = entry === undefined ? undefined : factsOf(entry)
    if (place === undefined || facts?.deletedAtMs === undefined) return
    if (facts.deletedAtMs + cutMs > clock.wallMs()) return
    await cluster.delete(place, { uid: facts.uid, graceSeconds: 0 })
  }

  stop(): void {
    this.#timers.stop()
  }
}
