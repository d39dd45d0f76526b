/** The loop of pods: what is left to chance is drawn here, and noted, before `pods.ts` says what is
 *  to be written. */

import type { Key } from '@watchglass/base'
import type { ControllerOptions } from '../runtime/controller-runtime.ts'
import type { PodFact } from '../runtime/facts.ts'
import type { FoundPod } from '../runtime/read-object.ts'
import type { Pod } from '../runtime/objects.ts'
import { ImagePulls } from '../containers/image-pulls.ts'
import type { ReferenceKind } from '../containers/missing-references.ts'
import { isStartDue } from './pod-sync.ts'
import { syncPartsOf } from './pod-sync-parts.ts'
import { evictedShare } from '../stages/pod-durations.ts'
import type { Addresses } from './addresses.ts'
import type { Places } from './places.ts'
import { requestsOf } from '../containers/requests.ts'
import { PodTimetable, type PodTimetableOptions } from './pod-timetable.ts'
import {
  type PodChoices,
  type PodParts,
  type PodSituation,
  type PodTask,
  type PodWithFact,
  reconcilePod,
  taskOf,
} from './pods.ts'
import type { NodeTroubles } from './troubles.ts'

export interface PodControllerOptions extends PodTimetableOptions {
  readonly addresses: Addresses
  /** The pod at a key; one that is stamped need not be read. */
  readonly findPod: (key: Key) => Promise<FoundPod | undefined>
  /** The pod is written by stamps. */
  readonly isStamped: (key: Key) => boolean
  /** A ConfigMap or a Secret of a namespace. */
  readonly read: (kind: ReferenceKind, namespace: string, name: string) => Promise<unknown>
}

export class PodController {
  readonly timetable: PodTimetable
  readonly loop: ControllerOptions<PodWithFact, PodParts>
  readonly #options: PodControllerOptions
  readonly #places: Places
  readonly #troubles: NodeTroubles
  readonly #pulls = new ImagePulls()

  constructor(options: PodControllerOptions) {
    this.#options = options
    this.#places = options.places
    this.#troubles = options.troubles
    this.timetable = new PodTimetable(options)
    this.loop = {
      name: 'a simulated pod',
      source: { component: 'kubelet' },
      find: key => this.#find(key),
      gather: (object, key) => this.#gather(key, object),
      reconcile: reconcilePod,
      // The node that a pod did not get is free for others.
      failed: ({ key, task }) => {
        if (task === 'schedule') this.#places.remove(key)
      },
    }
  }

  async #find(key: Key): ReturnType<NonNullable<PodController['loop']['find']>> {
    const found = await this.#options.findPod(key)
    if (found === undefined) return undefined
    const { object: pod, fact } = found
    const about = { apiVersion: 'v1', kind: 'Pod' }
    return { object: { metadata: pod.metadata, pod, fact }, about }
  }

  /** Nothing is remembered of a pod that is gone. */
  removed(key: Key): void {
    this.timetable.removed(key)
    this.#pulls.forget(key)
  }

  async #gather(key: Key, { pod, fact }: PodWithFact): Promise<PodParts> {
    const situation = this.#situationOf(fact)
    const task = taskOf(fact, situation)
    if (task === 'lose') this.timetable.noteLost(key)
    const isStamped = this.#options.isStamped(key)
    if (fact.isScripted && (task === 'start' || task === 'sync')) {
      return { situation, task, isStamped, ...(await this.#lookAtContainers(key, pod)) }
    }
    return { situation, task, isStamped, ...this.#choose(task, key, pod) }
  }

  async #lookAtContainers(key: Key, pod: Pod): Promise<PodChoices> {
    const { clock, addresses, read } = this.#options
    const { metadata, spec, status } = pod
    const node = this.#places.node(spec.nodeName ?? '')
    if (node === undefined) return {}
    const nowMs = clock.wallMs()
    if (isStartDue(pod, nowMs)) this.#troubles.started(key, pod)
    const podAddress = status?.podIP ?? addresses.next()
    const sync = await syncPartsOf(pod, {
      key,
      nowMs,
      addresses: { podAddress, nodeAddress: node.address },
      pulls: this.#pulls,
      read: (kind, name) => read(kind, metadata.namespace ?? '', name),
      pullFault: image => this.#troubles.pullFault(pod, image),
      crashesAfterMs: this.#troubles.willCrash(key)
        ? this.#troubles.crashesAfterMs(key)
        : undefined,
    })
    return { sync }
  }

  #situationOf(fact: PodFact): PodSituation {
    const { isLeft } = this.#options
    const { key } = fact
    const node = this.#places.node(fact.node)
    return {
      node,
      isNodeGone: node === undefined && fact.node !== '' && this.#places.isGone(fact.node),
      leavesInMs: node && this.timetable.leavesInMs(fact, node),
      isLost: node?.isReady === true && this.timetable.takeLost(key),
      isLeft: isLeft(),
      dueStage: this.timetable.dueStage(fact),
    }
  }

  #choose(task: PodTask | undefined, key: Key, pod: Pod): PodChoices {
    switch (task) {
      case 'schedule':
        return this.#chooseNode(key, pod)
      case 'start':
      case 'recover':
        return this.#chooseStart(key, pod)
      case 'restart':
        this.#troubles.started(key, pod)
        return {}
      case 'crash': {
        const waitsMs = this.#troubles.ended(key)
        if (pod.spec.restartPolicy === 'Never') this.#troubles.forget(key)
        return { waitsMs }
      }
      case 'disturb':
        return { isEvicted: this.#options.draw(0, 1) < evictedShare }
      case 'attach':
      case 'collect':
      case 'end':
      case 'evict':
      case 'finish':
      case 'lose':
      case 'regain':
      case 'resize':
      case 'sync':
      case undefined:
        return {}
    }
  }

  /** The pod counts at its node before it is bound, as other pods are given nodes meanwhile. */
  #chooseNode(key: Key, pod: Pod): PodChoices {
    const chosen = this.#places.choose(pod)
    if (chosen !== undefined) {
      this.#places.put(key, chosen.name, this.#places.countsRequests ? requestsOf(pod) : undefined)
      return { chosen }
    }
    this.timetable.noteUnplaced(key)
    return { refusals: this.#places.refusals(pod) }
  }

  #chooseStart(key: Key, pod: Pod): PodChoices {
    const node = this.#places.node(pod.spec.nodeName ?? '')
    if (node === undefined) return {}
    const isAgain = this.#troubles.waitsMs(key) > 0
    if (this.#troubles.pullFailsMs(key, pod) !== undefined) {
      return { pullFails: isAgain ? 'again' : 'first' }
    }
    // Noted before the write: the change comes back before the answer.
    this.timetable.noteStarted(key)
    this.#troubles.started(key, pod)
    const podAddress = this.#options.addresses.next()
    return { addresses: { podAddress, nodeAddress: node.address } }
  }
}
