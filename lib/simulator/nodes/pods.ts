/** The life of a pod, as the scheduler, a kubelet, and the controllers of taints and of lost nodes
 *  lead it: it is given a node, runs there, fails now and then, ends if it is to end, and goes when
 *  it is deleted. When it is time for what is kept by `pod-timetable.ts`; what is left to chance
 *  has been drawn (`pod-controller.ts`). */

import type { PodAddresses } from '../runtime/api-client.ts'
import type { EventSource, Note } from '../runtime/event-recorder.ts'
import type { NodeFact, PodFact } from '../runtime/facts.ts'
import type { PodContainer } from '../containers/declared-pod.ts'
import type { Metadata, Pod } from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  statusWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { type PodSyncParts, syncPod } from './pod-sync.ts'
import type { PodStage } from '../stages/pod-durations.ts'
import { presentMessage } from './kubelet-texts.ts'
import {
  attachedStatus,
  disruptedConditions,
  evictedStatus,
  killedStatus,
  resizedStatus,
  restartedStatus,
  runningStatus,
  succeededStatus,
  unplacedConditions,
} from './pod-status.ts'
import {
  crashedStatus,
  lostConditions,
  pullProblem,
  readyConditions,
  startedAgainStatus,
  unpulledStatus,
} from './troubled-status.ts'

/** A pod, and the facts about it. */
export interface PodWithFact {
  readonly metadata: Metadata
  readonly pod: Pod
  readonly fact: PodFact
}

/** The next thing to do with a pod. */
export type PodTask =
  /** Its node is gone: it is deleted. */
  | 'collect'
  /** Its node has a taint that it does not tolerate, or not any longer. */
  | 'evict'
  /** Its node does not say that it is there: the pod is not ready. */
  | 'lose'
  /** Its node is there again. */
  | 'regain'
  | PodStage

export interface PodSituation {
  /** The node of the pod; undefined if it has none, or an unknown one. */
  readonly node: NodeFact | undefined
  /** The node was deleted. */
  readonly isNodeGone: boolean
  /** The time until the pod has to leave its node because of a taint; undefined: it may stay. */
  readonly leavesInMs: number | undefined
  /** The pod is not ready because its node did not say that it is there. */
  readonly isLost: boolean
  /** Declared stages run the pods: here they are only given their nodes, and driven from them. */
  readonly isLeft: boolean
  /** The stage whose time has come. */
  readonly dueStage: PodStage | undefined
}

export function taskOf(fact: PodFact, situation: PodSituation): PodTask | undefined {
  const { node, isNodeGone, leavesInMs, isLost, isLeft, dueStage } = situation
  if (isNodeGone) return 'collect'
  if (leavesInMs !== undefined && leavesInMs <= 0) return 'evict'
  if (node === undefined || isLeft) return dueStage
  const isRunning = fact.phase === 'Running'
  // Nothing goes on with a pod whose node does not say that it is there.
  if (!node.isReady) return fact.isReady && isRunning ? 'lose' : undefined
  return isLost && !fact.isReady && isRunning ? 'regain' : dueStage
}

/** The choices that are made for a task, by chance and by the faults that are switched on. */
export interface PodChoices {
  /** The node for a pod that is scheduled; undefined: none takes it. */
  readonly chosen?: NodeFact | undefined
  /** The reasons why no node takes the pod. */
  readonly refusals?: string
  /** The image cannot be pulled, for the first time or again. */
  readonly pullFails?: 'first' | 'again' | undefined
  readonly addresses?: PodAddresses
  /** The parts of a look at a scripted pod. */
  readonly sync?: PodSyncParts
  /** The time before a container that has crashed is started again. */
  readonly waitsMs?: number
  /** A pod that is disturbed is evicted; else a container of it is restarted. */
  readonly isEvicted?: boolean
}

export interface PodParts extends PodChoices {
  readonly situation: PodSituation
  readonly task: PodTask | undefined
  /** The pod is written by stamps (`pod-stamps.ts`). */
  readonly isStamped: boolean
}

type SeenPod = Seen<PodWithFact> & PodParts

export function reconcilePod(seen: SeenPod): ReconcileResult {
  const { leavesInMs } = seen.situation
  const leavesMs = leavesInMs === undefined || leavesInMs <= 0 ? undefined : leavesInMs
  const done = doneFor(seen)
  const againMs = Math.min(leavesMs ?? Infinity, done.againMs ?? Infinity)
  return { ...done, againMs: againMs === Infinity ? undefined : againMs }
}

function doneFor(seen: SeenPod): ReconcileResult {
  const { key, object, task, now, isEvicted, sync } = seen
  const { pod, fact } = object
  if (sync !== undefined) return synced(seen, sync)
  const known = pod.status?.conditions
  switch (task) {
    case 'collect':
      return collect(seen)
    case 'evict':
      return evict(seen)
    case 'lose':
      return status(seen, { conditions: lostConditions(known, now) })
    case 'regain':
      return status(seen, { conditions: readyConditions(known, now) })
    case 'schedule':
      return schedule(seen)
    case 'recover':
    case 'start':
      return start(seen)
    case 'crash':
      return crash(seen)
    case 'restart': {
      const started = status(seen, startedAgainStatus(pod, now))
      return { ...started, notes: ofEach(pod, 'Started', () => 'Container started') }
    }
    case 'attach':
      return status(seen, attachedStatus(pod, now))
    case 'resize':
      return status(seen, resizedStatus(pod))
    case 'disturb':
      return status(seen, isEvicted === true ? evictedStatus(pod, now) : restartedStatus(pod, now))
    case 'finish':
      return status(seen, succeededStatus(pod, now))
    case 'end':
      return {
        writes: [
          ...(isSeenDead(fact) ? status(seen, killedStatus(pod, now)).writes : []),
          { type: 'delete', key, uid: fact.uid, graceSeconds: 0 },
        ],
        notes: ofEach(pod, 'Killing', ({ name }) => `Stopping container ${name}`),
      }
    case 'sync':
    case undefined:
      return nothing
  }
}

/** Whether a pod that ends is held by somebody: all others are gone at once. */
function isSeenDead({ finalizers, phase }: PodFact): boolean {
  return finalizers.length > 0 && phase === 'Running'
}

/** A scripted pod is looked at as a kubelet does it. */
function synced({ key, object, nowMs }: SeenPod, parts: PodSyncParts): ReconcileResult {
  const { pod } = object
  const { status: wanted, notes, againMs } = syncPod(pod, parts, nowMs)
  return { writes: statusWrite(key, pod.status, wanted), notes, againMs }
}

function status({ key }: SeenPod, written: object): ReconcileResult {
  return { writes: [{ type: 'patch', key, patch: { status: written }, subresource: 'status' }] }
}

const scheduler = { component: 'default-scheduler' }

function schedule(seen: SeenPod): ReconcileResult {
  const { key, object, now, chosen, refusals: message = '', isStamped } = seen
  if (chosen === undefined) {
    const conditions = unplacedConditions(object.pod, message, now)
    const { writes } = conditions === undefined ? nothing : status(seen, { conditions })
    const reason = 'FailedScheduling'
    return { writes, notes: [{ type: 'Warning', reason, message, source: scheduler }] }
  }
  const { name, namespace = '' } = object.metadata
  const said = `Successfully assigned ${namespace}/${name} to ${chosen.name}`
  return {
    writes: [{ type: 'bind', key, node: chosen, isStamped }],
    notes: [{ reason: 'Scheduled', message: said, source: scheduler }],
  }
}

function start(seen: SeenPod): ReconcileResult {
  const { key, object, now, pullFails, addresses, isStamped } = seen
  const { pod } = object
  if (pullFails !== undefined) {
    const { image = '' } = pod.spec.containers[0] ?? {}
    const message = `Failed to pull image "${image}": ${pullProblem(image)}`
    const note: Note = { type: 'Warning', reason: 'Failed', message, source: kubeletOf(pod) }
    return { ...status(seen, unpulledStatus(pod, now, pullFails === 'again')), notes: [note] }
  }
  if (addresses === undefined) return nothing
  const run: Write = { type: 'run', key, addresses }
  const { writes } = isStamped
    ? { writes: [run] }
    : status(seen, runningStatus(pod, { now, ...addresses }))
  return {
    writes,
    notes: [
      ...ofEach(pod, 'Pulled', ({ image = '' }) => presentMessage(image)),
      ...ofEach(pod, 'Created', () => 'Container created'),
      ...ofEach(pod, 'Started', () => 'Container started'),
    ],
  }
}

function crash(seen: SeenPod): ReconcileResult {
  const { object, now, waitsMs } = seen
  const { pod, metadata } = object
  const isOver = pod.spec.restartPolicy === 'Never'
  const { name, namespace = '', uid } = metadata
  const container = pod.spec.containers[0]?.name ?? ''
  const message = `Back-off restarting failed container ${container} in pod ${name}_${namespace}(${uid})`
  const note: Note = { type: 'Warning', reason: 'BackOff', message, source: kubeletOf(pod) }
  return { ...status(seen, crashedStatus(pod, now, isOver ? undefined : waitsMs)), notes: [note] }
}

/** As the collector of pods (PodGC) does it. */
function collect(seen: SeenPod): ReconcileResult {
  const { key, object } = seen
  const { fact } = object
  const hasEnded = fact.phase === 'Succeeded' || fact.phase === 'Failed'
  const { writes } = hasEnded
    ? nothing
    : disrupt(seen, 'DeletionByPodGC', 'PodGC: node no longer exists')
  return { writes: [...writes, { type: 'delete', key, uid: fact.uid, graceSeconds: 0 }] }
}

/** As the controller of taints does it. */
function evict(seen: SeenPod): ReconcileResult {
  const { key, object } = seen
  const { name, namespace = '' } = object.metadata
  const message = 'Taint manager: deleting due to NoExecute taint'
  const { writes } = disrupt(seen, 'DeletionByTaintManager', message)
  return {
    writes: [...writes, { type: 'delete', key, uid: object.fact.uid }],
    notes: [
      {
        reason: 'TaintManagerEviction',
        message: `Marking for deletion Pod ${namespace}/${name}`,
        source: { component: 'taint-eviction-controller' },
      },
    ],
  }
}

function disrupt(seen: SeenPod, reason: string, message: string): ReconcileResult {
  const conditions = disruptedConditions(seen.object.pod, reason, message, seen.now)
  const phase = reason === 'DeletionByPodGC' ? { phase: 'Failed' } : {}
  return status(seen, { ...phase, conditions })
}

/** A note about each container of the pod. */
function ofEach(pod: Pod, reason: string, message: (container: PodContainer) => string): Note[] {
  const source = kubeletOf(pod)
  return pod.spec.containers.map(container => ({
    reason,
    message: message(container),
    source,
    fieldPath: `spec.containers{${container.name}}`,
  }))
}

function kubeletOf({ spec }: Pod): EventSource {
  return { component: 'kubelet', host: spec.nodeName ?? '' }
}
