/** A HorizontalPodAutoscaler of autoscaling/v1 in the shape of v2: the way back from what
 *  autoscalers.ts does. What v1 has no fields for stands as JSON text in annotations, which Go
 *  drops afterwards. */

import {
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
  parseTree,
} from '@watchglass/go'
import { giveUp, NotExact } from '@watchglass/base'
import type { Schema } from '../../schema/schema.ts'
import {
  asObject,
  convertParts,
  isAbsent,
  type AutoscalerMembers,
  objectOf,
} from './autoscaler-members.ts'
import { ownAnnotations, prefix } from './autoscalers.ts'

/** The CPU utilization, in percent, that an autoscaler without metrics aims at. */
export const defaultUtilization = '80'

/** The object as v2 has it; members are in no particular order. Without a metric it gets
 *  the one that Kubernetes gives it. */
export function upgradeAutoscaler(autoscaler: JsonObject, schema: Schema): JsonObject | NotExact {
  const [spec, status] = [autoscaler.get('spec'), autoscaler.get('status')]
  const metadata = new Map(asObject(autoscaler.get('metadata')))
  const annotations = new Map(asObject(metadata.get('annotations')))
  const note = (name: string): JsonValue => {
    const text = annotations.get(prefix + name)
    if (text === undefined) return null
    const bytes = Buffer.from(typeof text === 'string' ? text : '')
    return (
      parseTree(bytes, 0, bytes.length) ?? giveUp('an annotation of the autoscaler is not JSON')
    )
  }
  const metrics = itemsOf(note('metrics')).map(metric => upgradeMetric(metric, schema))
  const utilization = memberOf(spec, 'targetCPUUtilizationPercentage') ?? null
  if (utilization !== null) metrics.push(cpuMetric('target', utilization))
  if (metrics.length === 0) metrics.push(cpuMetric('target', new JsonNumber(defaultUtilization)))
  const hasTolerance = ['scale-down-tolerance', 'scale-up-tolerance'].some(name =>
    annotations.has(prefix + name),
  )
  if (hasTolerance) return new NotExact('autoscaler has a tolerance in an annotation')
  const behavior = note('behavior')
  const noted = note('current-metrics')
  const current = memberOf(status, 'currentCPUUtilizationPercentage') ?? null
  const currentMetrics =
    noted !== null
      ? itemsOf(noted).map(upgradeCurrentMetric)
      : current === null
        ? []
        : [cpuMetric('current', current)]
  const conditions = note('conditions')
  for (const name of ownAnnotations) annotations.delete(name)
  metadata.delete('annotations')
  if (annotations.size > 0) metadata.set('annotations', annotations)
  return objectOf({
    kind: 'HorizontalPodAutoscaler',
    apiVersion: 'autoscaling/v2',
    metadata,
    spec: objectOf({
      scaleTargetRef: memberOf(spec, 'scaleTargetRef'),
      minReplicas: memberOf(spec, 'minReplicas'),
      maxReplicas: memberOf(spec, 'maxReplicas'),
      metrics,
      behavior: behavior === null ? undefined : upgradeBehavior(behavior),
    }),
    status: objectOf({
      observedGeneration: memberOf(status, 'observedGeneration'),
      lastScaleTime: memberOf(status, 'lastScaleTime'),
      currentReplicas: memberOf(status, 'currentReplicas'),
      desiredReplicas: memberOf(status, 'desiredReplicas'),
      currentMetrics,
      conditions: conditions === null ? undefined : conditions,
    }),
  })
}

/** From the spelling of Go's internal type. What is absent there would get the defaults of v2 here,
 *  which v1 does not have. */
function upgradeBehavior(behavior: JsonValue): JsonObject {
  return objectOf({
    scaleUp: upgradeRules(memberOf(behavior, 'ScaleUp')),
    scaleDown: upgradeRules(memberOf(behavior, 'ScaleDown')),
  })
}

function upgradeRules(rules: JsonValue | undefined): JsonObject {
  const part = (name: string): JsonValue =>
    memberOf(rules, name) ?? giveUp(`the behavior of the autoscaler has no ${name}`)
  const policies = itemsOf(part('Policies')).map(policy =>
    objectOf({
      type: memberOf(policy, 'Type'),
      value: memberOf(policy, 'Value'),
      periodSeconds: memberOf(policy, 'PeriodSeconds'),
    }),
  )
  return objectOf({
    stabilizationWindowSeconds: part('StabilizationWindowSeconds'),
    selectPolicy: part('SelectPolicy'),
    policies,
    tolerance: memberOf(rules, 'Tolerance'),
  })
}

export function cpuMetric(part: 'target' | 'current', averageUtilization: JsonValue): JsonObject {
  const type = part === 'target' ? 'Utilization' : undefined
  return objectOf({
    type: 'Resource',
    resource: objectOf({ name: 'cpu', [part]: objectOf({ type, averageUtilization }) }),
  })
}

/** A metric of the annotation. */
export function upgradeMetric(metric: JsonValue, schema: Schema): JsonObject {
  return convertParts(metric, {
    object: part => {
      const averageValue = memberOf(part, 'averageValue') ?? null
      const value = memberOf(part, 'targetValue') ?? '0'
      const isDropped = averageValue !== null && value === '0' && !schema.has('zeroTargetValues')
      return {
        describedObject: memberOf(part, 'target'),
        metric: namedMetric(part),
        target: objectOf({
          type: averageValue === null ? 'Value' : 'AverageValue',
          value: isDropped ? undefined : value,
          averageValue,
        }),
      }
    },
    pods: part => ({
      metric: namedMetric(part),
      target: objectOf({
        type: 'AverageValue',
        averageValue: memberOf(part, 'targetAverageValue') ?? '0',
      }),
    }),
    resource: resourceTarget,
    containerResource: part => ({
      ...resourceTarget(part),
      container: memberOf(part, 'container'),
    }),
    external: part => ({
      metric: namedMetric(part, 'metricSelector'),
      target: objectOf({
        type: isAbsent(memberOf(part, 'targetValue')) ? 'AverageValue' : 'Value',
        value: memberOf(part, 'targetValue'),
        averageValue: memberOf(part, 'targetAverageValue'),
      }),
    }),
  })
}

function resourceTarget(part: JsonValue): AutoscalerMembers {
  const averageUtilization = memberOf(part, 'targetAverageUtilization')
  return {
    name: memberOf(part, 'name'),
    target: objectOf({
      type: isAbsent(averageUtilization) ? 'AverageValue' : 'Utilization',
      averageUtilization,
      averageValue: memberOf(part, 'targetAverageValue'),
    }),
  }
}

/** A current metric of the annotation. */
export function upgradeCurrentMetric(metric: JsonValue): JsonObject {
  const current = (part: JsonValue, names: Readonly<Record<string, string>>): JsonObject =>
    objectOf(
      Object.fromEntries(
        Object.entries(names).map(([name, old]) => [
          name,
          memberOf(part, old) ??
            (old.startsWith('current') && name !== 'averageUtilization' ? '0' : undefined),
        ]),
      ),
    )
  const resource = (part: JsonValue): AutoscalerMembers => ({
    name: memberOf(part, 'name'),
    current: current(part, {
      averageUtilization: 'currentAverageUtilization',
      averageValue: 'currentAverageValue',
    }),
  })
  return convertParts(metric, {
    object: part => ({
      describedObject: memberOf(part, 'target'),
      metric: namedMetric(part),
      current: current(part, { value: 'currentValue', averageValue: 'averageValue' }),
    }),
    pods: part => ({
      metric: namedMetric(part),
      current: current(part, { averageValue: 'currentAverageValue' }),
    }),
    resource,
    containerResource: part => ({ ...resource(part), container: memberOf(part, 'container') }),
    external: part => ({
      metric: namedMetric(part, 'metricSelector'),
      current: objectOf({
        value: memberOf(part, 'currentValue') ?? '0',
        averageValue: memberOf(part, 'currentAverageValue'),
      }),
    }),
  })
}

function namedMetric(part: JsonValue, selector = 'selector'): JsonObject {
  return objectOf({ name: memberOf(part, 'metricName'), selector: memberOf(part, selector) })
}
