/** The plain kinds of the core group, nodes and events. */

import { amountText, none, since, unknown } from '../format.ts'
import { type Cell, type Printer, named, printer } from '../printer.ts'
import type { Picked } from '../pattern.ts'

export const configMaps: Printer = printer({
  fields: { metadata: named, data: 'count', binaryData: 'count' },
  cells: ({ metadata, data, binaryData }, now) => [
    metadata.name,
    data + binaryData,
    since(metadata.creationTimestamp, now),
  ],
})

/** The server turns texts that nobody has turned into bytes yet into data before it counts. */
export const secrets: Printer = printer({
  fields: { metadata: named, type: 'text', data: 'names', stringData: 'names' },
  cells: ({ metadata, type, data, stringData }, now) => [
    metadata.name,
    type,
    new Set([...data, ...stringData]).size,
    since(metadata.creationTimestamp, now),
  ],
})

/** Name and age, and nothing else. */
export const agedOnly: Printer = printer({
  fields: { metadata: named },
  cells: ({ metadata }, now) => [metadata.name, since(metadata.creationTimestamp, now)],
})

export const namespaces: Printer = printer({
  fields: { metadata: named, status: { phase: 'text' } },
  cells: ({ metadata, status }, now) => [
    metadata.name,
    status.phase,
    since(metadata.creationTimestamp, now),
  ],
})

export const serviceAccounts: Printer = printer({
  fields: { metadata: named, secrets: 'count' },
  cells: ({ metadata, secrets }, now, schema) => [
    metadata.name,
    ...(schema.has('serviceAccountSecrets') ? [secrets] : []),
    since(metadata.creationTimestamp, now),
  ],
})

export const resourceQuotas: Printer = printer({
  fields: { metadata: named, status: { hard: 'pairs', used: 'pairs' } },
  cells({ metadata, status }, now, schema) {
    const columns: Record<'request' | 'limit', string[]> = { request: [], limit: [] }
    for (const [name] of status.hard) {
      const column = name.startsWith('limits.') ? 'limit' : 'request'
      columns[column].push(
        `${name}: ${amountText(status.used, name)}/${amountText(status.hard, name)}`,
      )
    }
    const age = since(metadata.creationTimestamp, now)
    const [requests, limits] = [columns.request.join(', '), columns.limit.join(', ')]
    return schema.has('resourceQuotaAgeLast')
      ? [metadata.name, requests, limits, age]
      : [metadata.name, age, requests, limits]
  },
})

export const componentStatuses: Printer = printer({
  fields: {
    metadata: { name: 'text' },
    conditions: [{ type: 'text', status: 'text', message: 'text', error: 'text' }],
  },
  cells({ metadata, conditions }) {
    const healthy = conditions.find(({ type }) => type === 'Healthy')
    if (healthy === undefined) return [metadata.name, 'Unknown', '', '']
    const status = healthy.status === 'True' ? 'Healthy' : 'Unhealthy'
    return [metadata.name, status, healthy.message, healthy.error]
  },
})

const nodeFields = {
  metadata: { ...named, labels: 'pairs' },
  spec: { unschedulable: 'flag' },
  status: {
    conditions: [{ type: 'text', status: 'text' }],
    addresses: [{ type: 'text', address: 'text' }],
    nodeInfo: {
      kubeletVersion: 'text',
      osImage: 'text',
      kernelVersion: 'text',
      architecture: 'text',
      containerRuntimeVersion: 'text',
    },
  },
} as const

type Node = Picked<typeof nodeFields>

export const nodes: Printer = printer({
  fields: nodeFields,
  cells(node, now, schema) {
    const { metadata, status } = node
    const { kubeletVersion, osImage, containerRuntimeVersion } = status.nodeInfo
    return [
      metadata.name,
      nodeStatus(node),
      nodeRoles(metadata.labels),
      since(metadata.creationTimestamp, now),
      kubeletVersion,
      nodeAddress(node, 'InternalIP'),
      nodeAddress(node, 'ExternalIP'),
      osImage || unknown,
      kernelText(node, schema.has('nodeArchitecture')),
      containerRuntimeVersion || unknown,
    ]
  },
})

function nodeStatus({ spec, status }: Node): string {
  const ready = status.conditions.findLast(({ type }) => type === 'Ready')
  const isReady = ready?.status === 'True' ? 'Ready' : 'NotReady'
  const text = ready === undefined ? 'Unknown' : isReady
  return spec.unschedulable ? `${text},SchedulingDisabled` : text
}

const rolePrefix = 'node-role.kubernetes.io/'

function nodeRoles(labels: readonly (readonly [string, string])[]): string {
  const roles = new Set<string>()
  for (const [name, value] of labels) {
    if (name.startsWith(rolePrefix) && name.length > rolePrefix.length) {
      roles.add(name.slice(rolePrefix.length))
    } else if (name === 'kubernetes.io/role' && value !== '') {
      roles.add(value)
    }
  }
  return roles.size === 0 ? none : [...roles].sort().join(',')
}

function nodeAddress({ status }: Node, wanted: string): string {
  return status.addresses.find(({ type }) => type === wanted)?.address ?? none
}

function kernelText({ status: { nodeInfo } }: Node, hasArchitecture: boolean): string {
  const { kernelVersion, architecture } = nodeInfo
  // The architecture is appended even to `<unknown>`.
  const kernel = kernelVersion === '' ? unknown : kernelVersion
  return architecture === '' || !hasArchitecture ? kernel : `${kernel} (${architecture})`
}

/** Printed from the stored form, which is core/v1, whichever group is asked for. */
export const events: Printer = printer({
  fields: {
    metadata: { name: 'text' },
    involvedObject: { kind: 'text', name: 'text', fieldPath: 'text' },
    type: 'text',
    reason: 'text',
    message: 'text',
    source: { component: 'text', host: 'text' },
    reportingComponent: 'text',
    reportingInstance: 'text',
    firstTimestamp: 'time',
    lastTimestamp: 'time',
    eventTime: 'time',
    count: 'integer',
    series: { '?': { count: 'integer', lastObservedTime: 'time' } },
  },
  cells(event, now): Cell[] {
    const { involvedObject: target, series, source } = event
    const first = since(event.firstTimestamp ?? event.eventTime, now)
    const last = event.lastTimestamp === null ? first : since(event.lastTimestamp, now)
    const kind = target.kind.toLowerCase()
    const component = source.component || event.reportingComponent
    const instance = source.host || event.reportingInstance
    return [
      series === undefined ? last : since(series.lastObservedTime, now),
      event.type,
      event.reason,
      target.name === '' ? kind : `${kind}/${target.name}`,
      target.fieldPath,
      instance === '' ? component : `${component}, ${instance}`,
      trimSpace(event.message),
      first,
      series?.count ?? (event.count === 0 ? 1 : event.count),
      event.metadata.name,
    ]
  },
})

/** White space as Go knows it: with U+0085, and without the byte order mark. */
function trimSpace(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && space.test(text.charAt(start))) start++
  while (end > start && space.test(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

const space = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/
