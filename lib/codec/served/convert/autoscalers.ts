/** A HorizontalPodAutoscaler of autoscaling/v2 in the shape of v1. What v1 has no fields for
 *  travels as JSON text in annotations: other metrics and all current ones in the shape of v1,
 *  conditions as they are, and the behavior in the spelling of Go's internal type. */

import {
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberAt,
  memberOf,
  textInOrder,
} from '@watchglass/go'
import { NotExact } from '@watchglass/base'
import type { Schema } from '../../schema/schema.ts'
import { asObject, convertParts, type AutoscalerMembers, objectOf } from './autoscaler-members.ts'

export const prefix = 'autoscaling.alpha.kubernetes.io/'

/** Annotations that are only ever made by this conversion: existing ones go. */
export const ownAnnotations: readonly string[] = [
  'metrics',
  'current-metrics',
  'conditions',
  'behavior',
  'scale-down-tolerance',
  'scale-up-tolerance',
].map(name => prefix + name)

/** The object as v1 has it. Members are in no particular order, but in the annotations, where they
 *  are in Go's. Of several targets of the CPU the first one counts, of several current ones the
 *  last. Not exact is a target behind another metric of the CPU that has none: before 1.36 it may
 *  not have counted. */
export function downgradeAutoscaler(autoscaler: JsonObject, schema: Schema): JsonObject | NotExact {
  const spec = autoscaler.get('spec')
  const status = autoscaler.get('status')
  const metrics = itemsOf(memberOf(spec, 'metrics'))
  const currentMetrics = itemsOf(memberOf(status, 'currentMetrics'))
  const target = metrics.find(metric => isCpu(metric) && utilizationOf(metric, 'target') !== null)
  const isFirst = target === undefined || target === metrics.find(isCpu)
  if (!isFirst && !schema.has('anyCpuTarget')) {
    return new NotExact('autoscaler has a metric of the CPU before its target')
  }
  const current = currentMetrics.findLast(
    metric => isCpu(metric) && utilizationOf(metric, 'current') !== null,
  )
  if (memberOf(status, 'lastScaleTime') === null) {
    return new NotExact('autoscaler was scaled at a time that is zero')
  }
  const metadata = new Map(asObject(autoscaler.get('metadata')))
  const annotations = new Map(asObject(metadata.get('annotations')))
  for (const name of ownAnnotations) annotations.delete(name)
  const others = metrics.filter(
    metric => !isCpu(metric) || utilizationOf(metric, 'target') === null,
  )
  const notes: readonly (readonly [string, readonly JsonValue[]])[] = [
    ['metrics', others.map(metric => downgradeMetric(metric, 'target'))],
    ['current-metrics', currentMetrics.map(metric => downgradeMetric(metric, 'current'))],
    ['conditions', itemsOf(memberOf(status, 'conditions'))],
  ]
  for (const [name, list] of notes) {
    if (list.length > 0) annotations.set(prefix + name, textInOrder([...list]))
  }
  const behavior = memberOf(spec, 'behavior') ?? null
  if (behavior !== null) {
    annotations.set(`${prefix}behavior`, textInOrder(internalBehavior(behavior)))
  }
  metadata.delete('annotations')
  if (annotations.size > 0) metadata.set('annotations', annotations)
  return objectOf({
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v1',
    metadata,
    spec: objectOf({
      scaleTargetRef: memberOf(spec, 'scaleTargetRef'),
      minReplicas: memberOf(spec, 'minReplicas'),
      maxReplicas: memberOf(spec, 'maxReplicas'),
      targetCPUUtilizationPercentage: utilizationOf(target, 'target'),
    }),
    status: objectOf({
      observedGeneration: memberOf(status, 'observedGeneration'),
      lastScaleTime: memberOf(status, 'lastScaleTime'),
      currentReplicas: memberOf(status, 'currentReplicas') ?? zero,
      desiredReplicas: memberOf(status, 'desiredReplicas'),
      currentCPUUtilizationPercentage: utilizationOf(current, 'current'),
    }),
  })
}

const zero = new JsonNumber('0')

function isCpu(metric: JsonValue): boolean {
  const name = memberOf(memberOf(metric, 'resource'), 'name')
  return memberOf(metric, 'type') === 'Resource' && name === 'cpu'
}

/** The utilization in a metric of the CPU: its target, or the current one. */
function utilizationOf(metric: JsonValue | undefined, part: 'target' | 'current'): JsonValue {
  return memberAt(metric, ['resource', part, 'averageUtilization']) ?? null
}

/** A metric that is aimed at, or a current one: that has zeros for what it lacks. */
function downgradeMetric(metric: JsonValue, kind: 'target' | 'current'): JsonObject {
  const zeroText = kind === 'current' ? '0' : undefined
  const member = (part: JsonValue, name: string): JsonValue | undefined =>
    memberAt(part, [kind, name])
  const resource = (part: JsonValue): AutoscalerMembers => ({
    name: memberOf(part, 'name'),
    [`${kind}AverageUtilization`]: member(part, 'averageUtilization'),
    [`${kind}AverageValue`]: member(part, 'averageValue') ?? zeroText,
  })
  return convertParts(metric, {
    object: part => ({
      target: memberOf(part, 'describedObject'),
      metricName: metricMember(part, 'name'),
      [`${kind}Value`]: member(part, 'value') ?? '0',
      selector: metricMember(part, 'selector'),
      averageValue: member(part, 'averageValue'),
    }),
    pods: part => ({
      metricName: metricMember(part, 'name'),
      [`${kind}AverageValue`]: member(part, 'averageValue') ?? '0',
      selector: metricMember(part, 'selector'),
    }),
    resource,
    containerResource: part => ({ ...resource(part), container: memberOf(part, 'container') }),
    external: part => ({
      metricName: metricMember(part, 'name'),
      metricSelector: metricMember(part, 'selector'),
      [`${kind}Value`]: member(part, 'value') ?? zeroText,
      [`${kind}AverageValue`]: member(part, 'averageValue'),
    }),
  })
}

function metricMember(part: JsonValue, name: string): JsonValue | undefined {
  return memberOf(memberOf(part, 'metric'), name)
}

/** Go's internal type has no names for JSON: its members are capitalised, and none is left out. */
function internalBehavior(behavior: JsonValue): JsonObject {
  return new Map<string, JsonValue>([
    ['ScaleUp', internalRules(memberOf(behavior, 'scaleUp'))],
    ['ScaleDown', internalRules(memberOf(behavior, 'scaleDown'))],
  ])
}

function internalRules(rules: JsonValue | undefined): JsonValue {
  if (!(rules instanceof Map)) return null
  const policies = rules.get('policies')
  const internalPolicies = itemsOf(policies).map(
    policy =>
      new Map<string, JsonValue>([
        ['Type', memberOf(policy, 'type') ?? ''],
        ['Value', memberOf(policy, 'value') ?? zero],
        ['PeriodSeconds', memberOf(policy, 'periodSeconds') ?? zero],
      ]),
  )
  return new Map<string, JsonValue>([
    ['StabilizationWindowSeconds', rules.get('stabilizationWindowSeconds') ?? null],
    ['SelectPolicy', rules.get('selectPolicy') ?? null],
    ['Policies', Array.isArray(policies) ? internalPolicies : null],
    ['Tolerance', rules.get('tolerance') ?? null],
  ])
}
