/** Horizontal pod autoscalers: they scale by the figures that `kubectl top` shows (`../../usage/`),
 *  for metrics of resources. Of other metrics there is nobody who would measure them, and an
 *  autoscaler says so and keeps the replicas between its bounds. */

import type { Key } from '@watchglass/base'
import type { Note } from '../runtime/event-recorder.ts'
import {
  deploymentFact,
  type Fact,
  factOf,
  replicaSetFact,
  selectingFact,
} from '../runtime/facts.ts'
import type { Informer } from '../runtime/informer.ts'
import type { StatusCondition, Labels, Metadata, Selector } from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  statusWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { asSelector, selects } from '../runtime/selectors.ts'
import type { ControllerRuntime } from '../runtime/controller-runtime.ts'
import { type UsageOf, usageOfContainer, type UsingPod } from '../usage/usage.ts'
import { measure, type Measurement, type Metric } from './measurement.ts'

export interface Autoscaler {
  readonly metadata: Metadata
  readonly spec: {
    readonly minReplicas?: number
    readonly maxReplicas: number
    readonly scaleTargetRef: { readonly kind: string; readonly name: string }
    readonly metrics?: readonly Metric[]
  }
  readonly status?: {
    readonly conditions?: readonly StatusCondition[]
    readonly lastScaleTime?: string
  }
}

export interface AutoscalerParts {
  readonly target: { readonly key: Key; readonly object: Scaled } | undefined
  /** The pods of the target that are ready. */
  readonly pods: readonly UsingPod[]
  readonly usageOf?: UsageOf | undefined
}

export interface Scaled {
  readonly spec: { readonly replicas?: number; readonly selector?: Selector | Labels }
  readonly status?: { readonly replicas?: number }
}

/** The period of measurements, as upstream's (horizontal-pod-autoscaler-sync-period). */
const againMs = 15_000
/** No fewer replicas are asked for so long after the last change. */
const steadyMs = 300_000

type ConditionToTell = readonly [type: string, isTrue: boolean, reason: string, message: string]

export function reconcileAutoscaler(seen: Seen<Autoscaler> & AutoscalerParts): ReconcileResult {
  const { key, object, target, now } = seen
  const { metadata, spec, status } = object
  if (metadata.deletionTimestamp !== undefined) return nothing
  const known = status?.conditions ?? []
  const told = (said: readonly ConditionToTell[], rest: object): Write[] =>
    statusWrite(key, status, {
      observedGeneration: metadata.generation,
      conditions: said.map(one => conditionOf(one, known, now)),
      ...rest,
    })
  if (target === undefined) {
    const { kind, name } = spec.scaleTargetRef
    const message = `the HPA controller was unable to get the target's current scale: ${kind} "${name}" not found`
    const note: Note = { type: 'Warning', reason: 'FailedGetScale', message }
    const writes = told([['AbleToScale', false, 'FailedGetScale', message]], noReplicas)
    return { writes: writes.map(write => ({ ...write, note })) }
  }
  const current = target.object.spec.replicas ?? 1
  const measured = measure(spec.metrics ?? [], seen.pods, seen.nowMs, seen.usageOf)
  const { desired, why } = wantedReplicas(seen, current, measured)
  const isScaled = desired !== current
  const scale: Write[] = isScaled ? [scaling(target.key, desired, why)] : []
  const rest = {
    ...(measured.type === 'measured' ? { currentMetrics: measured.shown } : {}),
    currentReplicas: target.object.status?.replicas ?? 0,
    desiredReplicas: desired,
    ...(isScaled ? { lastScaleTime: now } : {}),
  }
  const conditions = conditionsOf(current, desired, measured)
  return { writes: [...scale, ...told(conditions, rest)], againMs }
}

interface Wanted {
  readonly desired: number
  readonly why: string
}

function wantedReplicas(
  { object, nowMs }: Seen<Autoscaler>,
  current: number,
  measured: Measurement,
): Wanted {
  const { minReplicas = 1, maxReplicas } = object.spec
  if (current === 0) return { desired: 0, why: '' }
  if (current < minReplicas) {
    return { desired: minReplicas, why: 'Current number of replicas below Spec.MinReplicas' }
  }
  if (current > maxReplicas) {
    return { desired: maxReplicas, why: 'Current number of replicas above Spec.MaxReplicas' }
  }
  if (measured.type !== 'measured') return { desired: current, why: '' }
  const { replicas, metric } = measured
  // Twice as many, or four more, are the most in one step.
  const most = Math.min(maxReplicas, Math.max(2 * current, current + 4))
  const desired = Math.min(most, Math.max(minReplicas, replicas))
  const lastMs = Date.parse(object.status?.lastScaleTime ?? '') || 0
  if (desired < current && nowMs - lastMs < steadyMs) return { desired: current, why: '' }
  const isMore = desired > current
  return { desired, why: isMore ? `${metric} above target` : 'All metrics below target' }
}

function scaling(key: Key, desired: number, why: string): Write {
  const message = `New size: ${String(desired)}; reason: ${why}`
  const note = { reason: 'SuccessfulRescale', message }
  return { type: 'patch', key, patch: { spec: { replicas: desired } }, note }
}

const noReplicas = { currentReplicas: 0, desiredReplicas: 0 }

function conditionsOf(current: number, desired: number, measured: Measurement): ConditionToTell[] {
  const message = "the HPA controller was able to get the target's current scale"
  const able: ConditionToTell = ['AbleToScale', true, 'SucceededGetScale', message]
  if (current === 0) {
    const disabled = 'scaling is disabled since the replica count of the target is zero'
    return [able, ['ScalingActive', false, 'ScalingDisabled', disabled]]
  }
  if (current !== desired) {
    const message = `the HPA controller was able to update the target scale to ${String(desired)}`
    return [['AbleToScale', true, 'SucceededRescale', message]]
  }
  if (measured.type === 'measured') {
    const found = `the HPA was able to successfully calculate a replica count from ${measured.metric}`
    return [able, ['ScalingActive', true, 'ValidMetricFound', found]]
  }
  const failed = `the HPA was unable to compute the replica count: ${measured.problem}`
  return [able, ['ScalingActive', false, 'FailedGetResourceMetric', failed]]
}

function conditionOf(
  [type, isTrue, reason, message]: ConditionToTell,
  known: readonly StatusCondition[],
  now: string,
): object {
  const status = isTrue ? 'True' : 'False'
  const before = known.find(one => one.type === type && one.status === status)
  return { type, status, reason, message, lastTransitionTime: before?.lastTransitionTime ?? now }
}

interface AutoscalerFact extends Fact {
  readonly target: { readonly kind: string; readonly name: string }
}

function autoscalerFact(key: Key, revision: number, autoscaler: Autoscaler): AutoscalerFact {
  const { metadata, spec } = autoscaler
  return factOf(key, revision, metadata, { target: spec.scaleTargetRef })
}

export function wireAutoscalers(
  runtime: ControllerRuntime,
  usageOf: UsageOf = usageOfContainer,
): void {
  const autoscalers = runtime.informer('horizontalpodautoscalers', autoscalerFact)
  const targets = targetsOf(runtime)
  const api = runtime.api('kube-controller-manager')
  /** Autoscalers by the keys of what they scale, and the other way round. */
  const scaledBy = new Map<Key, Set<Key>>()
  const scales = new Map<Key, Key>()
  const keyOf = ({ namespace, target }: AutoscalerFact): Key | undefined =>
    targets.get(target.kind)?.keyOf(namespace, target.name)
  const forget = (key: Key): void => {
    const target = scales.get(key)
    if (target === undefined) return
    scales.delete(key)
    const others = scaledBy.get(target)
    others?.delete(key)
    if (others?.size === 0) scaledBy.delete(target)
  }
  const { lookAt } = runtime.controller<Autoscaler, AutoscalerParts>({
    name: 'a simulated autoscaler',
    source: { component: 'horizontal-pod-autoscaler' },
    gather: async (_, key) => {
      const target = scales.get(key)
      const found = target && (await api.find<Scaled>(target))
      if (found === undefined || target === undefined) return { target: undefined, pods: [] }
      const pods = await podsOf(runtime, found.place.namespace, found.object)
      return { target: { key: target, object: found.object }, pods, usageOf }
    },
    reconcile: reconcileAutoscaler,
  })
  autoscalers.listen({
    noted: fact => {
      forget(fact.key)
      const target = keyOf(fact)
      if (target === undefined) return
      scales.set(fact.key, target)
      const others = scaledBy.get(target)
      if (others === undefined) scaledBy.set(target, new Set([fact.key]))
      else others.add(fact.key)
    },
    changed: ({ key }) => lookAt(key),
    gone: ({ key }) => forget(key),
  })
  const tell = ({ key }: Fact): void => scaledBy.get(key)?.forEach(lookAt)
  for (const informer of targets.values()) informer.listen({ changed: tell, gone: tell })
}

/** The pods that are measured; of very many the first ones. */
const podsMax = 100

async function podsOf(
  runtime: ControllerRuntime,
  namespace: string,
  { spec }: Scaled,
): Promise<UsingPod[]> {
  if (spec.selector === undefined) return []
  const selector = asSelector(spec.selector)
  const api = runtime.api('kube-controller-manager')
  const found: UsingPod[] = []
  for (const pod of runtime.pods.index.inNamespace(namespace)) {
    if (found.length === podsMax) break
    if (!pod.isReady || pod.isDeleting || !selects(selector, pod.labels)) continue
    const read = await api.find<UsingPod>(pod.key)
    if (read !== undefined) found.push(read.object)
  }
  return found
}

type Target = Pick<Informer<Fact, unknown>, 'keyOf' | 'listen'>

function targetsOf(runtime: ControllerRuntime): ReadonlyMap<string, Target> {
  return new Map<string, Target>([
    ['Deployment', runtime.informer('deployments', deploymentFact)],
    ['ReplicaSet', runtime.informer('replicasets', replicaSetFact)],
    ['ReplicationController', runtime.informer('controllers', replicaSetFact)],
    ['StatefulSet', runtime.informer('statefulsets', selectingFact)],
  ])
}
