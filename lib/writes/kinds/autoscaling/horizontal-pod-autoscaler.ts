/** HorizontalPodAutoscalers: kube-apiserver works on the form of autoscaling/v2, whatever version
 *  is written. */

import { type JsonValue, quantityNanos } from '@watchglass/go'
import { dnsLabel, pathSegment } from '../../validation/formats.ts'
import type { Place } from '../../validation/place.ts'
import { checkContainerResourceName } from '../../validation/pods/resources.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { completeAutoscaler } from './horizontal-pod-autoscaler/old-version.ts'

export const horizontalPodAutoscaler: BuiltInKind = kind({
  group: 'autoscaling',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  hasStatus: true,
  ordered: completeAutoscaler,
  validateCreate: object =>
    checkAutoscaler(object.in('spec'), { isTargetFree: false, areObjectsFree: false }),
  validateUpdate: (object, old) => {
    const [now, before] = [object, old].map(place => place.in('spec', 'scaleTargetRef'))
    const isKept = (name: string): boolean => now?.in(name).text === before?.in(name).text
    checkAutoscaler(object.in('spec'), {
      isTargetFree: isKept('apiVersion') && isKept('kind'),
      areObjectsFree: old.in('spec', 'metrics').items.some(hasBadObject),
    })
  },
  subresources: {
    status: {
      validate: object => {
        for (const name of ['currentReplicas', 'desiredReplicas']) {
          object.in('status', name).notNegative()
        }
      },
    },
  },
})

/** Whether versions are left alone: of the target, and of objects that metrics are about. */
interface VersionOptions {
  readonly isTargetFree: boolean
  readonly areObjectsFree: boolean
}

function hasBadObject(metric: Place): boolean {
  const version = metric.in('object', 'describedObject', 'apiVersion').text
  return metric.in('type').text === 'Object' && problemOfVersion(version, true) !== undefined
}

const noGroup = 'apiVersion must specify API group'

function problemOfVersion(version: string, mayHaveNoGroup: boolean): string | undefined {
  const parts = version.split('/')
  if (version !== '' && version !== '/') {
    if (parts.length > 2) return `unexpected GroupVersion string: ${version}`
    if (parts.length === 2) return parts[0] === '' && !mayHaveNoGroup ? noGroup : undefined
  }
  return mayHaveNoGroup ? undefined : noGroup
}

function checkAutoscaler(spec: Place, options: VersionOptions): void {
  const [least, most] = [spec.in('minReplicas'), spec.in('maxReplicas')]
  if (least.isSet && least.number < 1) least.invalid('must be greater than or equal to 1')
  if (most.number === 0) most.required('must be set and greater than 0')
  else if (most.number < 0) most.invalid('must be greater than or equal to 1')
  if (least.isSet && most.number < least.number) {
    most.invalid('must be greater than or equal to `minReplicas`', most.number)
  }
  const target = spec.in('scaleTargetRef')
  checkReference(target)
  if (!options.isTargetFree) {
    // The only kind of the core group that can be scaled.
    const isOfCore = target.in('kind').text === 'ReplicationController'
    checkVersion(target.in('apiVersion'), isOfCore)
  }
  const metrics = metricsOf(spec)
  for (const metric of metrics.items) checkMetric(metric, options)
  const isScaledToZero = least.isSet && least.number === 0
  const reachesZero = metrics.items.some(metric => {
    return ['Object', 'External'].includes(metric.in('type').text)
  })
  if (isScaledToZero && !reachesZero) {
    metrics.forbidden(
      'must specify at least one Object or External metric to support scaling to zero replicas',
    )
  }
  for (const name of ['scaleUp', 'scaleDown']) {
    const rules = spec.in('behavior', name)
    if (rules.isSet) checkRules(rules)
  }
}

/** In the oldest version the metric of the processor is a field of its own. */
function metricsOf(spec: Place): Place {
  const usage = spec.in('targetCPUUtilizationPercentage')
  const metrics = spec.in('metrics')
  if (!usage.isSet) return metrics
  const target = new Map<string, JsonValue>([
    ['type', 'Utilization'],
    ['averageUtilization', usage.value ?? null],
  ])
  const resource = new Map<string, JsonValue>([
    ['name', 'cpu'],
    ['target', target],
  ])
  const metric = new Map<string, JsonValue>([
    ['type', 'Resource'],
    ['resource', resource],
  ])
  return metrics.as(metrics.path, [metric])
}

function checkReference(reference: Place): void {
  for (const name of ['kind', 'name']) {
    if (reference.in(name).text === '') reference.in(name).required()
    else reference.in(name).mustBe(pathSegment)
  }
}

function checkVersion(version: Place, mayHaveNoGroup: boolean): void {
  const problem = problemOfVersion(version.text, mayHaveNoGroup)
  if (problem !== undefined) version.invalid(problem, version.text)
}

const metricTypes = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource']

type Check = (source: Place, options: VersionOptions) => void

/** By the name of the source, in the order in which they are looked at. */
const sourceChecks: Readonly<Record<string, Check>> = {
  object: (source, { areObjectsFree }) => {
    const described = source.in('describedObject')
    checkReference(described)
    if (!areObjectsFree) checkVersion(described.in('apiVersion'), true)
    checkIdentifier(source)
    checkTarget(source)
    requireTarget(source, 'averageValue', 'must set either a target value or averageValue')
  },
  external: source => {
    checkIdentifier(source)
    checkTarget(source)
    const words = 'a target value for metric'
    requireTarget(source, 'averageValue', `must set either ${words} or a per-pod target`)
    const target = source.in('target')
    if (target.in('value').isSet && target.in('averageValue').isSet) {
      target.in('value').forbidden(`may not set both ${words} and a per-pod target`)
    }
  },
  pods: source => {
    checkIdentifier(source)
    checkTarget(source)
    const average = source.in('target', 'averageValue')
    if (!average.isSet) average.required('must specify a positive target averageValue')
  },
  resource: source => {
    if (source.in('name').text === '') source.in('name').required('must specify a resource name')
    checkTarget(source)
    checkUtilization(source)
  },
  containerResource: source => {
    const [name, container] = [source.in('name'), source.in('container')]
    if (name.text === '') name.required('must specify a resource name')
    else checkContainerResourceName(name, name.text)
    if (container.text === '') container.required('must specify a container')
    else container.mustBe(dnsLabel)
    checkTarget(source)
    checkUtilization(source)
  },
}

function requireTarget(source: Place, name: string, detail: string): void {
  const target = source.in('target')
  if (!target.in('value').isSet && !target.in('averageValue').isSet) {
    target.in(name).required(detail)
  }
}

function checkUtilization(source: Place): void {
  const target = source.in('target')
  const [utilization, value] = [target.in('averageUtilization'), target.in('averageValue')]
  const words = 'a target raw value'
  if (!utilization.isSet && !value.isSet) {
    utilization.required(`must set either ${words} or a target utilization`)
  }
  if (utilization.isSet && value.isSet) {
    value.forbidden(`may not set both ${words} and a target utilization`)
  }
}

function checkMetric(metric: Place, options: VersionOptions): void {
  const type = metric.in('type')
  if (type.text === '') type.required('must specify a metric source type')
  if (!metricTypes.includes(type.text)) type.notSupported(metricTypes, type.text)
  const present: Place[] = []
  for (const [name, check] of Object.entries(sourceChecks)) {
    const source = metric.in(name)
    if (!source.isSet) continue
    present.push(source)
    if (present.length === 1) check(source, options)
  }
  const expected = metric.in(type.text.replace(/^./, first => first.toLowerCase()))
  if (!metricTypes.includes(type.text)) type.notSupported(metricTypes, type.text)
  else if (!expected.isSet) {
    expected.required('must populate information for the given metric source')
  }
  if (present.length === 1) return
  for (const source of present) {
    if (source.path === expected.path) continue
    source.forbidden('must populate the given metric source only')
  }
}

function checkIdentifier(source: Place): void {
  const name = source.in('metric', 'name')
  if (name.text === '') name.required('must specify a metric name')
  else name.mustBe(pathSegment)
}

function checkTarget(source: Place): void {
  const target = source.in('target')
  const type = target.in('type')
  if (type.text === '') type.required('must specify a metric target type')
  if (!['Utilization', 'Value', 'AverageValue'].includes(type.text)) {
    type.invalidName('must be either Utilization, Value, or AverageValue')
  }
  for (const name of ['value', 'averageValue']) {
    const value = target.in(name)
    if (value.isSet && quantityNanos(value.text) <= 0n) value.invalid('must be positive')
  }
  const utilization = target.in('averageUtilization')
  if (utilization.isSet && utilization.number < 1) utilization.invalid('must be greater than 0')
}

function checkRules(rules: Place): void {
  const [window, select, policies, tolerance] = [
    rules.in('stabilizationWindowSeconds'),
    rules.in('selectPolicy'),
    rules.in('policies'),
    rules.in('tolerance'),
  ]
  if (window.number < 0) window.invalid('must be greater than or equal to zero')
  if (window.number > 3600) window.invalid('must be less than or equal to 3600')
  if (select.isSet) select.oneOf(['Disabled', 'Max', 'Min'], 'unsupported')
  if (policies.size === 0) policies.required('must specify at least one Policy')
  for (const policy of policies.items) {
    const [value, period] = [policy.in('value'), policy.in('periodSeconds')]
    policy.in('type').oneOf(['Percent', 'Pods'], 'unsupported')
    if (value.number <= 0) value.invalid('must be greater than zero', value.number)
    if (period.number <= 0) period.invalid('must be greater than zero', period.number)
    if (period.number > 1800) period.invalid('must be less than or equal to 1800')
  }
  if (tolerance.isSet && quantityNanos(tolerance.text) < 0n) {
    tolerance.invalid('must be greater than or equal to 0')
  }
}
