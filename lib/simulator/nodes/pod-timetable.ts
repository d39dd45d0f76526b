/** The time at which something is to be done with each pod, and what has to be remembered of pods
 *  for it: their objects do not say who has started them, or why they wait. The stage that is next
 *  follows from the facts about a pod; its time is drawn when the stage is. */

import type { Clock, Key } from '@watchglass/base'
import type { NodeFact, PodFact } from '../runtime/facts.ts'
import { KeyedTimers } from '../runtime/keyed-timers.ts'
import { podDurationsMs, type PodStage } from '../stages/pod-durations.ts'
import type { Places } from './places.ts'
import { heldBy } from '../containers/requests.ts'
import { leavesAfterMs } from './taints.ts'
import type { NodeTroubles } from './troubles.ts'

export interface PodTimetableOptions {
  readonly clock: Clock
  /** A number from a range. */
  readonly draw: (least: number, most: number) => number
  readonly places: Places
  readonly troubles: NodeTroubles
  /** Declared stages run the pods: here they are only given their nodes, and driven from them. */
  readonly isLeft: () => boolean
  readonly lookAt: (key: Key) => void
}

/** Pods for which there was no room are looked at again so long after some was made. */
const retryMs = 1_000

export class PodTimetable {
  readonly #options: PodTimetableOptions
  readonly #timers: KeyedTimers
  /** The stage that each timer is to begin. */
  readonly #awaited = new Map<Key, PodStage>()
  /** Pods that run because of us: those of a generated cluster are left as they are. */
  readonly #started = new Set<Key>()
  /** Pods that nobody ran before, and that are to run now. */
  readonly #adopted = new Set<Key>()
  /** Pods that no node takes, until one has changed. */
  readonly #unplaced = new Set<Key>()
  /** Pods that leave their nodes after a while, because of taints that came at that time. */
  readonly #leavingSinceMs = new Map<Key, number>()
  /** Pods that are not ready because their node does not say that it is there. */
  readonly #lost = new Set<Key>()
  #cancelRetry: (() => void) | undefined

  constructor(options: PodTimetableOptions) {
    this.#options = options
    this.#timers = new KeyedTimers(options.clock)
  }

  /** Pods that have waited for a node that takes them: there is another one, or it has changed. */
  nodeChanged(): void {
    const waiting = [...this.#unplaced]
    this.#unplaced.clear()
    for (const key of waiting) this.#options.lookAt(key)
  }

  /** A pod has ended or is gone: others may have its place, where requests count. They are looked
   *  at together a moment later. */
  #roomMade(): void {
    const { places, clock } = this.#options
    if (!places.countsRequests || this.#unplaced.size === 0) return
    if (this.#cancelRetry !== undefined) return
    this.#cancelRetry = clock.setTimer(retryMs, () => {
      this.#cancelRetry = undefined
      this.nodeChanged()
    })
  }

  /** The taints of the node of these pods have changed, or it is gone. */
  taintsChanged(pods: readonly PodFact[]): void {
    const { places, lookAt } = this.#options
    for (const pod of pods) {
      if (places.repels(pod)) lookAt(pod.key)
      else this.#leavingSinceMs.delete(pod.key)
    }
  }

  /** The node of these pods says that it is there, or does not say it any more. */
  readinessChanged(pods: readonly PodFact[]): void {
    for (const pod of pods) {
      this.changed(pod)
      this.#options.lookAt(pod.key)
    }
  }

  /** A pod that was left as it is runs from now on, whatever its state. */
  adopted(pod: PodFact): void {
    this.#adopted.add(pod.key)
    this.changed(pod)
  }

  changed(pod: PodFact): void {
    const { draw, places, lookAt } = this.#options
    const { key } = pod
    places.put(key, pod.node, heldBy(pod))
    if (pod.phase === 'Succeeded' || pod.phase === 'Failed') this.#roomMade()
    // A pod that has been bound to a node that repels it, or that is gone.
    if (pod.node !== '' && places.repels(pod)) lookAt(key)
    const stage = this.#stageOf(pod)
    if (this.#timers.has(key) && this.#awaited.get(key) === stage) return
    this.#stop(key)
    if (stage === undefined) return
    this.#awaited.set(key, stage)
    const [leastMs, mostMs] = podDurationsMs[stage]
    const drawnMs = draw(leastMs, mostMs)
    const delayMs = stage === 'end' ? Math.min(drawnMs, pod.graceSeconds * 1_000) : drawnMs
    this.#timers.set(key, delayMs + this.#troubledMs(stage, pod), () => {
      this.#awaited.delete(key)
      lookAt(key)
    })
  }

  removed(key: Key): void {
    this.#stop(key)
    this.#lost.delete(key)
    this.#options.troubles.forget(key)
    this.#unplaced.delete(key)
    this.#leavingSinceMs.delete(key)
    this.#adopted.delete(key)
    this.#started.delete(key)
    this.#options.places.remove(key)
    this.#roomMade()
  }

  /** The stage whose time has come. A pod that is looked at for another reason, such as a taint of
   *  its node, is not hurried by that. */
  dueStage(pod: PodFact): PodStage | undefined {
    const stage = this.#stageOf(pod)
    return this.#awaited.get(pod.key) === stage ? undefined : stage
  }

  /** The time until the pod has to leave the node; undefined: it may stay. */
  leavesInMs(pod: PodFact, node: NodeFact): number | undefined {
    const { key } = pod
    const afterMs = pod.isDeleting ? undefined : leavesAfterMs(node.taints, pod.tolerations)
    if (afterMs === undefined) {
      this.#leavingSinceMs.delete(key)
      return undefined
    }
    const nowMs = this.#options.clock.wallMs()
    const since = node.taints.find(({ effect }) => effect === 'NoExecute')?.timeAdded
    const sinceMs = this.#leavingSinceMs.get(key) ?? (Date.parse(since ?? '') || nowMs)
    this.#leavingSinceMs.set(key, sinceMs)
    return sinceMs + afterMs - nowMs
  }

  noteStarted(key: Key): void {
    this.#started.add(key)
  }

  noteUnplaced(key: Key): void {
    this.#unplaced.add(key)
  }

  noteLost(key: Key): void {
    this.#lost.add(key)
  }

  /** Whether the pod was lost, of which nothing is remembered any more. */
  takeLost(key: Key): boolean {
    return this.#lost.delete(key)
  }

  stop(): void {
    this.#cancelRetry?.()
    this.#timers.stop()
  }

  /** The time that troubles add to it. */
  #troubledMs(stage: PodStage, { key, namespace }: PodFact): number {
    const { troubles } = this.#options
    if (stage === 'schedule') return troubles.lateMs(namespace)
    if (stage === 'crash') return troubles.crashesAfterMs(key)
    return stage === 'start' || stage === 'restart' ? troubles.waitsMs(key) : 0
  }

  #stageOf(pod: PodFact): PodStage | undefined {
    const { isLeft, troubles } = this.#options
    if (isLeft() && (pod.node !== '' || pod.isDeleting)) return undefined
    if (pod.isScripted && pod.node !== '' && !pod.isDeleting) return scriptedStageOf(pod)
    const runsOn = pod.phase === 'Running' && pod.runsForEver && !pod.isDeleting
    if (pod.phase === 'Running' && pod.hasNewContainers && !pod.isDeleting) return 'attach'
    if (pod.phase === 'Running' && !pod.isDeleting) {
      if (pod.isResized) return 'resize'
      if (troubles.hasEnded(pod.key)) return 'restart'
      if (troubles.willCrash(pod.key)) return 'crash'
    }
    if (runsOn && !pod.isReady && this.#adopted.has(pod.key)) return 'recover'
    if (this.#unplaced.has(pod.key) && !pod.isDeleting) return undefined
    return runsOn && this.#started.has(pod.key) ? 'disturb' : stageOf(pod)
  }

  #stop(key: Key): void {
    this.#timers.cancel(key)
    this.#awaited.delete(key)
  }
}

function scriptedStageOf(pod: PodFact): PodStage | undefined {
  const { phase, hasBegun, hasNewContainers, isResized } = pod
  if (phase === 'Running' && hasNewContainers) return 'attach'
  if (phase === 'Running' && isResized) return 'resize'
  if (phase !== 'Pending' && phase !== 'Running') return undefined
  return hasBegun ? 'sync' : 'start'
}

function stageOf(pod: PodFact): PodStage | undefined {
  if (pod.isDeleting) return pod.node !== '' && pod.graceSeconds > 0 ? 'end' : undefined
  if (pod.phase === 'Running' && !pod.runsForEver) return 'finish'
  if (pod.phase !== 'Pending') return undefined
  if (pod.node !== '') return 'start'
  return pod.isHeld ? undefined : 'schedule'
}
