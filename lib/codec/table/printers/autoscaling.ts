/** Horizontal pod autoscalers: current and wanted values of each metric. Printed from
 *  autoscaling/v2, which is what is stored, whichever version is served. */

import { none, since, unknown, unset } from '../format.ts'
import { type Printer, named, printer } from '../printer.ts'
import type { Picked } from '../pattern.ts'

const valueFields = {
  value: 'text?',
  averageValue: 'text?',
  averageUtilization: 'integer?',
} as const

const targetOnly = { '?': { target: valueFields } } as const
const currentOnly = { '?': { current: valueFields } } as const
const namedTarget = { '?': { name: 'text', target: valueFields } } as const

const fields = {
  metadata: named,
  spec: {
    scaleTargetRef: { kind: 'text', name: 'text' },
    minReplicas: 'integer?',
    maxReplicas: 'integer',
    metrics: [
      {
        type: 'text',
        object: targetOnly,
        pods: targetOnly,
        resource: namedTarget,
        containerResource: namedTarget,
        external: targetOnly,
      },
    ],
  },
  status: {
    currentReplicas: 'integer',
    currentMetrics: [
      {
        object: currentOnly,
        pods: currentOnly,
        resource: currentOnly,
        containerResource: currentOnly,
        external: currentOnly,
      },
    ],
  },
} as const

type Autoscaler = Picked<typeof fields>
type Spec = Autoscaler['spec']['metrics'][number]
type Status = Autoscaler['status']['currentMetrics'][number]
type Values = Picked<typeof valueFields>

export const horizontalPodAutoscalers: Printer = printer({
  fields,
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`,
    metricsText(spec.metrics, status.currentMetrics),
    spec.minReplicas === undefined ? unset : String(spec.minReplicas),
    spec.maxReplicas,
    status.currentReplicas,
    since(metadata.creationTimestamp, now),
  ],
})

function metricsText(specs: readonly Spec[], statuses: readonly Status[]): string {
  if (specs.length === 0) return none
  const texts = specs.map((spec, i) => metricText(spec, statuses[i]))
  const first = texts.slice(0, 2).join(', ')
  return texts.length > 2 ? `${first} + ${texts.length - 2} more...` : first
}

function metricText(spec: Spec, status: Status | undefined): string {
  switch (spec.type) {
    case 'External':
      return valueText(spec.external?.target, status?.external?.current)
    case 'Object':
      return valueText(spec.object?.target, status?.object?.current)
    case 'Pods': {
      const current =
        status?.pods === undefined ? unknown : quantity(status.pods.current.averageValue)
      return `${current}/${quantity(spec.pods?.target.averageValue)}`
    }
    case 'Resource':
      return resourceText(spec.resource, status?.resource?.current)
    case 'ContainerResource':
      return resourceText(spec.containerResource, status?.containerResource?.current)
    default:
      return '<unknown type>'
  }
}

/** A value, or an average of one, which is said. */
function valueText(target: Values | undefined, current: Values | undefined): string {
  if (target?.averageValue !== undefined) {
    return `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`
  }
  return `${current === undefined ? unknown : quantity(current.value)}/${quantity(target?.value)}`
}

function resourceText(
  spec: { readonly name: string; readonly target: Values } | undefined,
  current: Values | undefined,
): string {
  const { averageValue, averageUtilization } = spec?.target ?? {}
  if (averageValue !== undefined) {
    const now = current === undefined ? unknown : quantity(current.averageValue)
    return `${spec?.name}: ${now}/${averageValue}`
  }
  const now = percent(current?.averageUtilization) ?? unknown
  return `${spec?.name}: ${now}/${percent(averageUtilization) ?? '<auto>'}`
}

function percent(value: number | undefined): string | undefined {
  return value === undefined ? undefined : `${value}%`
}

/** Go's text for a quantity that is not there. */
function quantity(value: string | undefined): string {
  return value ?? '<nil>'
}
