/** Pods are given a node, run there, fail now and then, end if they are to end, and go when they
 *  are deleted: each after a time that is drawn. */

import type { Clock } from '../../base/clock.ts'
import type { Key } from '../../base/keys.ts'
import type { ObjectPlace } from '../controllers/cluster.ts'
import { KeyedTimers } from '../controllers/keyed-timers.ts'
import type { ActorApi } from './actor-api.ts'
import { type PodFact, podFact } from './facts.ts'
import type { Places } from './places.ts'
import type { Pod } from './objects.ts'
import {
  evictedStatus,
  restartedStatus,
  runningStatus,
  succeededStatus,
  unplacedConditions,
} from './pod-status.ts'

type Stage = 'schedule' | 'start' | 'recover' | 'disturb' | 'finish' | 'end'

/** The durations of each stage, at least and at most. */
const durationsMs: Readonly<Record<Stage, readonly [number, number]>> = {
  schedule: [20, 200],
  start: [500, 2_500],
  recover: [500, 2_500],
  disturb: [600_000, 3_600_000],
  finish: [2_000, 8_000],
  end: [500, 2_000],
}

/** The share of disturbed pods that are evicted; a container of the others is restarted. */
const evictedShare = 0.2

export interface PodsOptions {
  readonly api: ActorApi
  readonly places: Places
  readonly clock: Clock
  readonly lookAt: (key: Key) => void
}

export class Pods {
  readonly #options: PodsOptions
  readonly #timers: KeyedTimers
  /** The stage that each timer is to begin. */
  readonly #awaited = new Map<Key, Stage>()
  /** Pods that run because of us: those of a generated cluster are left as they are. */
  readonly #started = new Set<Key>()
  /** Pods that nobody ran before, and that are to run now. */
  readonly #adopted = new Set<Key>()
  /** Pods that no node takes, until one has changed. */
  readonly #unplaced = new Set<Key>()
  /** Counts up, so that addresses are hardly ever given twice. */
  #addresses: number

  constructor(options: PodsOptions) {
    this.#options = options
    this.#timers = new KeyedTimers(options.clock)
    this.#addresses = Math.floor(options.api.draw(0, 2 ** 16))
  }

  /** Pods that have waited for a node that takes them: there is another one, or it has changed. */
  nodeChanged(): void {
    const waiting = [...this.#unplaced]
    this.#unplaced.clear()
    for (const key of waiting) this.#options.lookAt(key)
  }

  /** A pod that was left as it is runs from now on, whatever its state. */
  adopted(pod: PodFact): void {
    this.#adopted.add(pod.key)
    this.changed(pod)
  }

  changed(pod: PodFact): void {
    const { api, places, lookAt } = this.#options
    const { key } = pod
    places.put(key, pod.node)
    const stage = this.#stageOf(pod)
    if (this.#timers.has(key) && this.#awaited.get(key) === stage) return
    this.#stop(key)
    if (stage === undefined) return
    this.#awaited.set(key, stage)
    const [leastMs, mostMs] = durationsMs[stage]
    const drawnMs = api.draw(leastMs, mostMs)
    const delayMs = stage === 'end' ? Math.min(drawnMs, pod.graceSeconds * 1_000) : drawnMs
    this.#timers.set(key, delayMs, () => {
      this.#awaited.delete(key)
      lookAt(key)
    })
  }

  removed(key: Key): void {
    this.#stop(key)
    this.#unplaced.delete(key)
    this.#adopted.delete(key)
    this.#started.delete(key)
    this.#options.places.remove(key)
  }

  async work(key: Key): Promise<void> {
    const { api, places } = this.#options
    const found = await api.read<Pod>(key)
    if (found === undefined) return
    const { object: pod, place, revision } = found
    const fact = podFact(key, revision, pod)
    switch (this.#stageOf(fact)) {
      case 'schedule':
        return this.#schedule(key, place, pod)
      case 'recover':
      case 'start': {
        const node = places.node(fact.node)
        // A node that is not there runs nothing.
        if (node === undefined) return
        // The change comes back before the answer.
        this.#started.add(key)
        const now = api.now
        const addresses = { podAddress: this.#nextAddress(), nodeAddress: node.address }
        await api.patch(key, { status: runningStatus(pod, { now, ...addresses }) }, 'status')
        return
      }
      case 'disturb': {
        const isEvicted = api.draw(0, 1) < evictedShare
        const status = isEvicted ? evictedStatus(pod, api.now) : restartedStatus(pod, api.now)
        await api.patch(key, { status }, 'status')
        return
      }
      case 'finish':
        await api.patch(key, { status: succeededStatus(pod, api.now) }, 'status')
        return
      case 'end':
        return api.delete(key, fact.uid, 0)
      case undefined:
    }
  }

  stop(): void {
    this.#timers.stop()
  }

  async #schedule(key: Key, place: ObjectPlace, pod: Pod): Promise<void> {
    const { api, places } = this.#options
    const node = places.choose(pod)
    if (node === undefined) {
      this.#unplaced.add(key)
      const conditions = unplacedConditions(pod, places.refusals(pod), api.now)
      if (conditions !== undefined) await api.patch(key, { status: { conditions } }, 'status')
      return
    }
    // Before it is bound, as other pods are given nodes meanwhile.
    places.put(key, node.name)
    try {
      await api.bind(place, node.name)
    } catch (error) {
      places.remove(key)
      throw error
    }
  }

  #stageOf(pod: PodFact): Stage | undefined {
    const runsOn = pod.phase === 'Running' && pod.runsForEver && !pod.isDeleting
    if (runsOn && !pod.isReady && this.#adopted.has(pod.key)) return 'recover'
    if (this.#unplaced.has(pod.key) && !pod.isDeleting) return undefined
    return runsOn && this.#started.has(pod.key) ? 'disturb' : stageOf(pod)
  }

  #nextAddress(): string {
    this.#addresses = (this.#addresses + 1) % 2 ** 22
    const rest = this.#addresses
    return `10.${128 + (rest >> 16)}.${(rest >> 8) & 0xff}.${rest & 0xff}`
  }

  #stop(key: Key): void {
    this.#timers.cancel(key)
    this.#awaited.delete(key)
  }
}

function stageOf(pod: PodFact): Stage | undefined {
  if (pod.isDeleting) return pod.node !== '' && pod.graceSeconds > 0 ? 'end' : undefined
  if (pod.phase === 'Running' && !pod.runsForEver) return 'finish'
  if (pod.phase !== 'Pending') return undefined
  if (pod.node !== '') return 'start'
  return pod.isHeld ? undefined : 'schedule'
}
