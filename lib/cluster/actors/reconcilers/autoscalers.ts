/** Horizontal pod autoscalers. Nothing measures pods that are made up, so an autoscaler keeps the
 *  replicas between its bounds and says that it has no metrics, as without a metrics server. */

import type { Key } from '../../../base/keys.ts'
import type { Note } from '../event-recorder.ts'
import { deploymentFact, type Fact, factOf, replicaSetFact, selectingFact } from '../facts.ts'
import type { Follow } from '../follow.ts'
import type { Condition, Metadata } from '../objects.ts'
import { nothing, type Outcome, statusWrite, type Write } from '../outcome.ts'
import type { Seen } from '../reconciler.ts'
import type { World } from '../world.ts'

export interface Autoscaler {
  readonly metadata: Metadata
  readonly spec: {
    readonly minReplicas?: number
    readonly maxReplicas: number
    readonly scaleTargetRef: { readonly kind: string; readonly name: string }
  }
  readonly status?: { readonly conditions?: readonly Condition[]; readonly lastScaleTime?: string }
}

export interface AutoscalerParts {
  readonly target: { readonly key: Key; readonly object: Scaled } | undefined
}

export interface Scaled {
  readonly spec: { readonly replicas?: number }
  readonly status?: { readonly replicas?: number }
}

type ConditionToTell = readonly [type: string, isTrue: boolean, reason: string, message: string]

export function reconcileAutoscaler(seen: Seen<Autoscaler> & AutoscalerParts): Outcome {
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
  const desired =
    current === 0 ? 0 : Math.min(spec.maxReplicas, Math.max(spec.minReplicas ?? 1, current))
  const isScaled = desired !== current
  const scale: Write[] = isScaled ? [scaling(target.key, current, desired)] : []
  const rest = {
    currentReplicas: target.object.status?.replicas ?? 0,
    desiredReplicas: desired,
    ...(isScaled ? { lastScaleTime: now } : {}),
  }
  return { writes: [...scale, ...told(conditionsOf(current, desired), rest)] }
}

function scaling(key: Key, current: number, desired: number): Write {
  const bound = desired > current ? 'below Spec.MinReplicas' : 'above Spec.MaxReplicas'
  const message = `New size: ${String(desired)}; reason: Current number of replicas ${bound}`
  const note = { reason: 'SuccessfulRescale', message }
  return { type: 'patch', key, patch: { spec: { replicas: desired } }, note }
}

const noReplicas = { currentReplicas: 0, desiredReplicas: 0 }

function conditionsOf(current: number, desired: number): ConditionToTell[] {
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
  const failed =
    'the HPA was unable to compute the replica count: failed to get resource metrics: nothing measures simulated pods'
  return [able, ['ScalingActive', false, 'FailedGetResourceMetric', failed]]
}

function conditionOf(
  [type, isTrue, reason, message]: ConditionToTell,
  known: readonly Condition[],
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
  return { ...factOf(key, revision, metadata), target: spec.scaleTargetRef }
}

export function wireAutoscalers(world: World): void {
  const autoscalers = world.follow('horizontalpodautoscalers', autoscalerFact)
  const targets = targetsOf(world)
  const api = world.api('kube-controller-manager')
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
  const lookAt = world.controller<Autoscaler, AutoscalerParts>({
    name: 'a simulated autoscaler',
    source: { component: 'horizontal-pod-autoscaler' },
    gather: async (_, key) => {
      const target = scales.get(key)
      const found = target && (await api.read<Scaled>(target))
      return { target: found && target && { key: target, object: found.object } }
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
  for (const follow of targets.values()) follow.listen({ changed: tell, gone: tell })
}

type Target = Pick<Follow<Fact, unknown>, 'keyOf' | 'listen'>

function targetsOf(world: World): ReadonlyMap<string, Target> {
  return new Map<string, Target>([
    ['Deployment', world.follow('deployments', deploymentFact)],
    ['ReplicaSet', world.follow('replicasets', replicaSetFact)],
    ['ReplicationController', world.follow('controllers', replicaSetFact)],
    ['StatefulSet', world.follow('statefulsets', selectingFact)],
  ])
}
