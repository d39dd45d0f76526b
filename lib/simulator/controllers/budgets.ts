/** The status of disruption budgets: how many of the pods that they select may be evicted now. */

import type { Key } from '@watchglass/base'
import {
  deploymentFact,
  type Fact,
  factOf,
  type PodFact,
  replicaSetFact,
  selectingFact,
} from '../runtime/facts.ts'
import type { StatusCondition, Labels, Metadata, Selector } from '../runtime/objects.ts'
import { type ReconcileResult, statusWrite, type Write } from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { selects } from '../runtime/selectors.ts'
import { percentOf } from './rollout.ts'
import { lookAtSelecting } from '../runtime/wiring.ts'
import type { Controller, ControllerRuntime } from '../runtime/controller-runtime.ts'

export interface DisruptionBudget {
  readonly metadata: Metadata
  readonly spec: {
    readonly minAvailable?: number | string
    readonly maxUnavailable?: number | string
    readonly selector?: Selector
  }
  readonly status?: {
    readonly disruptedPods?: Readonly<Record<string, string>>
    readonly conditions?: readonly StatusCondition[]
  }
}

export interface BudgetParts {
  /** The pods that it selects. */
  readonly pods: readonly PodFact[]
  /** The pods that the controllers of these pods are to have. */
  readonly expected: number
}

/** A pod that was to be evicted and is still there after so long was not. */
const disruptedMs = 2 * 60_000

export function reconcileBudget(seen: Seen<DisruptionBudget> & BudgetParts): ReconcileResult {
  const { key, object, pods, expected: scale, now, nowMs } = seen
  const { metadata, spec, status } = object
  if (metadata.deletionTimestamp !== undefined) return { writes: [] }
  const active = pods.filter(({ phase }) => phase !== 'Succeeded' && phase !== 'Failed')
  const disruptedPods = stillDisrupted(status?.disruptedPods ?? {}, active, nowMs)
  const healthy = active.filter(
    ({ isReady, isDeleting, name }) => isReady && !isDeleting && disruptedPods[name] === undefined,
  ).length
  const isByScale = spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string'
  const expected = isByScale ? scale : active.length
  const desired = desiredOf(spec, expected)
  const allowed = expected > 0 ? Math.max(0, healthy - desired) : 0
  const known = status?.conditions ?? []
  const wanted = {
    observedGeneration: metadata.generation ?? 1,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    disruptionsAllowed: allowed,
    conditions: [conditionOf(allowed > 0, metadata.generation ?? 1, known, now)],
  }
  // Names that are gone are taken out one by one: a merge patch keeps the others.
  const gone = Object.keys(status?.disruptedPods ?? {}).filter(
    name => disruptedPods[name] === undefined,
  )
  const removed = Object.fromEntries(gone.map(name => [name, null]))
  const parts = gone.length === 0 ? wanted : { ...wanted, disruptedPods: removed }
  const waitsFor = Object.values(disruptedPods).map(at => Date.parse(at) + disruptedMs - nowMs)
  return {
    writes:
      gone.length === 0
        ? noted(statusWrite(key, status, wanted), active.length)
        : [{ type: 'patch', key, patch: { status: parts }, subresource: 'status' }],
    againMs: waitsFor.length === 0 ? undefined : Math.max(1_000, Math.min(...waitsFor)),
  }
}

function noted(writes: readonly Write[], pods: number): readonly Write[] {
  if (pods > 0) return writes
  return writes.map(one => ({
    ...one,
    note: { reason: 'NoPods', message: 'No matching pods found' },
  }))
}

function stillDisrupted(
  disrupted: Readonly<Record<string, string>>,
  pods: readonly PodFact[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const waiting = new Set(pods.filter(({ isDeleting }) => !isDeleting).map(({ name }) => name))
  return Object.fromEntries(
    Object.entries(disrupted).filter(
      ([name, at]) => waiting.has(name) && nowMs - Date.parse(at) < disruptedMs,
    ),
  )
}

function desiredOf(
  { minAvailable, maxUnavailable }: DisruptionBudget['spec'],
  expected: number,
): number {
  if (maxUnavailable !== undefined) return Math.max(0, expected - share(maxUnavailable, expected))
  return share(minAvailable ?? 0, expected)
}

/** Both bounds are rounded up, as upstream does it. */
function share(part: number | string, whole: number): number {
  return percentOf(part, whole, Math.ceil)
}

function conditionOf(
  isAllowed: boolean,
  observedGeneration: number,
  known: readonly StatusCondition[],
  now: string,
): object {
  const status = isAllowed ? 'True' : 'False'
  const before = known.find(one => one.type === 'DisruptionAllowed' && one.status === status)
  const reason = isAllowed ? 'SufficientPods' : 'InsufficientPods'
  const lastTransitionTime = before?.lastTransitionTime ?? now
  const message = ''
  const type = 'DisruptionAllowed'
  return { type, status, observedGeneration, lastTransitionTime, reason, message }
}

interface BudgetFact extends Fact {
  readonly selector: Selector | undefined
}

function budgetFact(key: Key, revision: number, { metadata, spec }: DisruptionBudget): BudgetFact {
  return factOf(key, revision, metadata, { selector: spec.selector })
}

/** An empty selector of a budget selects everything. */
function matches(selector: Selector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector
  const isEmpty = Object.keys(matchLabels).length === 0 && matchExpressions.length === 0
  return isEmpty || selects(selector, labels)
}

export function wireBudgets(runtime: ControllerRuntime): void {
  const budgets = runtime.informer('poddisruptionbudgets', budgetFact)
  const replicasOf = replicasOfOwners(runtime)
  const { lookAt }: Controller = runtime.controller<DisruptionBudget, BudgetParts>({
    name: 'the status of a simulated disruption budget',
    source: { component: 'controllermanager' },
    gather: (_, key) => {
      const pods = podsOf(key)
      return { pods, expected: replicasOf(pods) }
    },
    reconcile: reconcileBudget,
  })
  const podsOf: (key: Key) => PodFact[] = lookAtSelecting(runtime, {
    informer: budgets,
    matches,
    lookAt,
  })
}

/** The sum of what the controllers of pods ask for, each once. */
function replicasOfOwners(runtime: ControllerRuntime): (pods: readonly PodFact[]) => number {
  const deployments = runtime.informer('deployments', deploymentFact)
  const replicaSets = runtime.informer('replicasets', replicaSetFact)
  const controllers = runtime.informer('controllers', replicaSetFact)
  const statefulSets = runtime.informer('statefulsets', selectingFact)
  const scaleOf = ({ namespace, owner }: Fact): readonly [uid: string, replicas: number] => {
    const { kind = '', name = '', uid = '' } = owner ?? {}
    if (kind === 'StatefulSet') return [uid, statefulSets.at(namespace, name)?.replicas ?? 0]
    if (kind === 'ReplicationController') {
      return [uid, controllers.at(namespace, name)?.replicas ?? 0]
    }
    const set = kind === 'ReplicaSet' ? replicaSets.at(namespace, name) : undefined
    if (set?.owner?.kind !== 'Deployment') return [uid, set?.replicas ?? 0]
    return [set.owner.uid, deployments.at(namespace, set.owner.name)?.replicas ?? 0]
  }
  return pods => {
    const scales = new Map(pods.map(scaleOf))
    return [...scales.values()].reduce((total, one) => total + one, 0)
  }
}
