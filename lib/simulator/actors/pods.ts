/** Pods are given a node, run there, fail now and then, end if they are to end, and go when they
 *  are deleted: each after a time that is drawn. */

import type { Clock, Key } from '@watchglass/base'
import { KeyedTimers } from '../controllers/keyed-timers.ts'
import type { ActorApi } from './actor-api.ts'
import type { Addresses } from './addresses.ts'
import type { EventRecorder, EventSource, Note } from './event-recorder.ts'
import type { PodFact } from './facts.ts'
import type { FoundPod } from './found.ts'
import { evictedShare, podDurationsMs, type PodStage } from '../stages/pod-durations.ts'
import type { Places } from './places.ts'
import type { Container, Pod } from './objects.ts'
import { leavesAfterMs } from './reconcilers/taints.ts'
import {
  crashedStatus,
  lostConditions,
  pullProblem,
  readyConditions,
  startedAgainStatus,
  unpulledStatus,
} from './reconcilers/troubled-status.ts'
import type { Troubles } from './troubles.ts'
import {
  attachedStatus,
  disruptedConditions,
  evictedStatus,
  restartedStatus,
  succeededStatus,
  unplacedConditions,
} from './pod-status.ts'

const scheduler = { component: 'default-scheduler' }

export interface PodsOptions {
  readonly api: ActorApi
  readonly places: Places
  readonly clock: Clock
  readonly events: Pick<EventRecorder, 'tell'>
  readonly lookAt: (key: Key) => void
  readonly addresses: Addresses
  /** Declared stages run the pods: they are only given their nodes here, and driven from them. */
  readonly isLeft: () => boolean
  readonly troubles: Troubles
}

export class Pods {
  readonly #options: PodsOptions
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
  readonly #leaving: KeyedTimers
  readonly #leavingSince = new Map<Key, number>()
  /** Pods that are not ready because their node does not say that it is there. */
  readonly #lost = new Set<Key>()

  constructor(options: PodsOptions) {
    this.#options = options
    this.#timers = new KeyedTimers(options.clock)
    this.#leaving = new KeyedTimers(options.clock)
  }

  /** Pods that have waited for a node that takes them: there is another one, or it has changed. */
  nodeChanged(): void {
    const waiting = [...this.#unplaced]
    this.#unplaced.clear()
    for (const key of waiting) this.#options.lookAt(key)
  }

  /** The taints of the node of these pods have changed, or it is gone. */
  taintsChanged(pods: readonly PodFact[]): void {
    const { places, lookAt } = this.#options
    for (const pod of pods) {
      if (places.repels(pod)) lookAt(pod.key)
      else this.#stay(pod.key)
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
    const { api, places, lookAt } = this.#options
    const { key } = pod
    places.put(key, pod.node)
    // A pod that has been bound to a node that repels it, or that is gone.
    if (pod.node !== '' && places.repels(pod)) lookAt(key)
    const stage = this.#stageOf(pod)
    if (this.#timers.has(key) && this.#awaited.get(key) === stage) return
    this.#stop(key)
    if (stage === undefined) return
    this.#awaited.set(key, stage)
    const [leastMs, mostMs] = podDurationsMs[stage]
    const drawnMs = api.draw(leastMs, mostMs)
    const delayMs = stage === 'end' ? Math.min(drawnMs, pod.graceSeconds * 1_000) : drawnMs
    this.#timers.set(key, delayMs + this.#troubledMs(stage, pod), () => {
      this.#awaited.delete(key)
      lookAt(key)
    })
  }

  /** The time that troubles add to it. */
  #troubledMs(stage: PodStage, { key, namespace }: PodFact): number {
    const { troubles } = this.#options
    if (stage === 'schedule') return troubles.lateMs(namespace)
    if (stage === 'crash') return troubles.crashesAfterMs(key)
    return stage === 'start' || stage === 'restart' ? troubles.waitsMs(key) : 0
  }

  removed(key: Key): void {
    this.#stop(key)
    this.#lost.delete(key)
    this.#options.troubles.forget(key)
    this.#unplaced.delete(key)
    this.#stay(key)
    this.#adopted.delete(key)
    this.#started.delete(key)
    this.#options.places.remove(key)
  }

  async work(key: Key): Promise<void> {
    const { api } = this.#options
    const found = await api.readPod(key)
    if (found === undefined) return
    const { object: pod, fact } = found
    if (await this.#leave(key, pod, fact)) return
    if (await this.#waitsForNode(key, pod, fact)) return
    const stage = this.#stageOf(fact)
    // It is looked at for another reason, such as a taint of its node: that hurries nothing.
    if (stage !== undefined && this.#awaited.get(key) === stage) return
    switch (stage) {
      case 'schedule':
        return this.#schedule(key, found)
      case 'recover':
      case 'start':
        return this.#start(key, found)
      case 'crash': {
        const isOver = pod.spec.restartPolicy === 'Never'
        const waitsMs = this.#options.troubles.ended(key)
        const status = crashedStatus(pod, api.now, isOver ? undefined : waitsMs)
        if (isOver) this.#options.troubles.forget(key)
        await api.patch(key, { status }, 'status')
        const { name, namespace = '', uid } = pod.metadata
        const container = pod.spec.containers[0]?.name ?? ''
        const message = `Back-off restarting failed container ${container} in pod ${name}_${namespace}(${uid})`
        this.#tell(pod, kubeletOf(pod), { type: 'Warning', reason: 'BackOff', message })
        return
      }
      case 'restart':
        this.#options.troubles.started(key, pod)
        await api.patch(key, { status: startedAgainStatus(pod, api.now) }, 'status')
        this.#tellEach(pod, 'Started', () => 'Container started')
        return
      case 'attach':
        await api.patch(key, { status: attachedStatus(pod, api.now) }, 'status')
        return
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
        this.#tellEach(pod, 'Killing', ({ name }) => `Stopping container ${name}`)
        return api.delete(key, fact.uid, 0)
      case undefined:
    }
  }

  stop(): void {
    this.#timers.stop()
    this.#leaving.stop()
  }

  async #start(key: Key, { object: pod, fact }: FoundPod): Promise<void> {
    const { api, places, addresses: given, troubles } = this.#options
    const node = places.node(fact.node)
    // A node that is not there runs nothing.
    if (node === undefined) return
    const now = api.now
    const isAgain = troubles.waitsMs(key) > 0
    if (troubles.pullFailsMs(key, pod) !== undefined) {
      await api.patch(key, { status: unpulledStatus(pod, now, isAgain) }, 'status')
      const { image = '' } = pod.spec.containers[0] ?? {}
      const message = `Failed to pull image "${image}": ${pullProblem(image)}`
      this.#tell(pod, kubeletOf(pod), { type: 'Warning', reason: 'Failed', message })
      return
    }
    // The change comes back before the answer.
    this.#started.add(key)
    troubles.started(key, pod)
    const addresses = { podAddress: given.next(), nodeAddress: node.address }
    if (!(await api.run(key, pod, addresses))) return this.work(key)
    this.#tellEach(pod, 'Pulled', ({ image = '' }) => {
      const where = 'already present on machine and can be accessed by the pod'
      return `Container image ${JSON.stringify(image)} ${where}`
    })
    this.#tellEach(pod, 'Created', () => 'Container created')
    this.#tellEach(pod, 'Started', () => 'Container started')
  }

  /** Nothing goes on with a pod whose node does not say that it is there: it is not ready. */
  async #waitsForNode(key: Key, pod: Pod, fact: PodFact): Promise<boolean> {
    const { api, places, isLeft } = this.#options
    const node = places.node(fact.node)
    if (node === undefined || isLeft()) return false
    const known = pod.status?.conditions
    if (!node.isReady) {
      if (!fact.isReady || fact.phase !== 'Running') return true
      this.#lost.add(key)
      await api.patch(key, { status: { conditions: lostConditions(known, api.now) } }, 'status')
      return true
    }
    if (!this.#lost.delete(key) || fact.isReady || fact.phase !== 'Running') return false
    await api.patch(key, { status: { conditions: readyConditions(known, api.now) } }, 'status')
    return true
  }

  async #schedule(key: Key, { object: pod, place }: FoundPod): Promise<void> {
    const { api, places } = this.#options
    const node = places.choose(pod)
    if (node === undefined) {
      this.#unplaced.add(key)
      const message = places.refusals(pod)
      const conditions = unplacedConditions(pod, message, api.now)
      if (conditions !== undefined) await api.patch(key, { status: { conditions } }, 'status')
      this.#tell(pod, scheduler, { type: 'Warning', reason: 'FailedScheduling', message })
      return
    }
    // Before it is bound, as other pods are given nodes meanwhile.
    places.put(key, node.name)
    try {
      if (!(await api.bind(key, place, node))) {
        places.remove(key)
        return await this.work(key)
      }
      const { namespace, name } = place
      const message = `Successfully assigned ${namespace}/${name} to ${node.name}`
      this.#tell(pod, scheduler, { reason: 'Scheduled', message })
    } catch (error) {
      places.remove(key)
      throw error
    }
  }

  #stageOf(pod: PodFact): PodStage | undefined {
    if (this.#options.isLeft() && (pod.node !== '' || pod.isDeleting)) return undefined
    const runsOn = pod.phase === 'Running' && pod.runsForEver && !pod.isDeleting
    if (pod.phase === 'Running' && pod.hasNewContainers && !pod.isDeleting) return 'attach'
    if (pod.phase === 'Running' && !pod.isDeleting) {
      if (this.#options.troubles.hasEnded(pod.key)) return 'restart'
      if (this.#options.troubles.willCrash(pod.key)) return 'crash'
    }
    if (runsOn && !pod.isReady && this.#adopted.has(pod.key)) return 'recover'
    if (this.#unplaced.has(pod.key) && !pod.isDeleting) return undefined
    return runsOn && this.#started.has(pod.key) ? 'disturb' : stageOf(pod)
  }

  /** Whether the pod goes away from its node: as the taint manager and the collector of pods do
   *  it. */
  async #leave(key: Key, pod: Pod, fact: PodFact): Promise<boolean> {
    const { api, places, clock, lookAt } = this.#options
    if (fact.node === '') return false
    const node = places.node(fact.node)
    if (node === undefined) {
      if (!places.isGone(fact.node)) return false
      const reason = 'DeletionByPodGC'
      if (!hasEnded(fact)) await this.#disrupt(key, pod, reason, 'PodGC: node no longer exists')
      await api.delete(key, fact.uid, 0)
      return true
    }
    const afterMs = fact.isDeleting ? undefined : leavesAfterMs(node.taints, fact.tolerations)
    if (afterMs === undefined) {
      this.#stay(key)
      return false
    }
    const since = node.taints.find(({ effect }) => effect === 'NoExecute')?.timeAdded
    const sinceMs = this.#leavingSince.get(key) ?? (Date.parse(since ?? '') || clock.wallMs())
    this.#leavingSince.set(key, sinceMs)
    const waitMs = sinceMs + afterMs - clock.wallMs()
    if (waitMs > 0) {
      this.#leaving.set(key, waitMs, () => lookAt(key))
      return false
    }
    const { name, namespace = '' } = pod.metadata
    const evictor = { component: 'taint-eviction-controller' }
    const said = `Marking for deletion Pod ${namespace}/${name}`
    this.#tell(pod, evictor, { reason: 'TaintManagerEviction', message: said })
    const message = 'Taint manager: deleting due to NoExecute taint'
    await this.#disrupt(key, pod, 'DeletionByTaintManager', message)
    await api.delete(key, fact.uid)
    return true
  }

  async #disrupt(key: Key, pod: Pod, reason: string, message: string): Promise<void> {
    const { api } = this.#options
    const conditions = disruptedConditions(pod, reason, message, api.now)
    const phase = reason === 'DeletionByPodGC' ? { phase: 'Failed' } : {}
    await api.patch(key, { status: { ...phase, conditions } }, 'status')
  }

  #stay(key: Key): void {
    this.#leaving.cancel(key)
    this.#leavingSince.delete(key)
  }

  #tell(pod: Pod, source: EventSource, note: Note, fieldPath?: string): void {
    const about = { apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata }
    this.#options.events.tell(
      source,
      fieldPath === undefined ? about : { ...about, fieldPath },
      note,
    )
  }

  /** The same for each of its containers. */
  #tellEach(pod: Pod, reason: string, message: (container: Container) => string): void {
    const source = kubeletOf(pod)
    for (const container of pod.spec.containers) {
      const path = `spec.containers{${container.name}}`
      this.#tell(pod, source, { reason, message: message(container) }, path)
    }
  }

  #stop(key: Key): void {
    this.#timers.cancel(key)
    this.#awaited.delete(key)
  }
}

function kubeletOf({ spec }: Pod): EventSource {
  return { component: 'kubelet', host: spec.nodeName ?? '' }
}

function hasEnded({ phase }: PodFact): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

function stageOf(pod: PodFact): PodStage | undefined {
  if (pod.isDeleting) return pod.node !== '' && pod.graceSeconds > 0 ? 'end' : undefined
  if (pod.phase === 'Running' && !pod.runsForEver) return 'finish'
  if (pod.phase !== 'Pending') return undefined
  if (pod.node !== '') return 'start'
  return pod.isHeld ? undefined : 'schedule'
}
