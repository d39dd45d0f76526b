/** Kinds about the cluster itself: flow control, classes, leases, devices, API services. */

import { none, shortList, since, unset } from '../format.ts'
import { type Cell, type Printer, named, printer } from '../printer.ts'

/** In lists the order is by precedence, then by name. */
export const flowSchemas: Printer = printer({
  fields: {
    metadata: named,
    spec: {
      priorityLevelConfiguration: { name: 'text' },
      matchingPrecedence: 'integer',
      distinguisherMethod: { '?': { type: 'text' } },
    },
    status: { conditions: [{ type: 'text', status: 'text' }] },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.priorityLevelConfiguration.name,
    spec.matchingPrecedence,
    spec.distinguisherMethod?.type ?? none,
    since(metadata.creationTimestamp, now),
    status.conditions.find(({ type }) => type === 'Dangling')?.status ?? '?',
  ],
  sortKey: ({ spec }) => spec.matchingPrecedence,
})

export const priorityLevelConfigurations: Printer = printer({
  fields: {
    metadata: named,
    spec: {
      type: 'text',
      limited: {
        '?': {
          nominalConcurrencyShares: 'integer?',
          limitResponse: {
            queuing: {
              '?': { queues: 'integer', handSize: 'integer', queueLengthLimit: 'integer' },
            },
          },
        },
      },
    },
  },
  cells({ metadata, spec: { type, limited } }, now): Cell[] {
    const queuing = limited?.limitResponse.queuing
    return [
      metadata.name,
      type,
      limited === undefined ? none : (limited.nominalConcurrencyShares ?? 0),
      queuing?.queues ?? none,
      queuing?.handSize ?? none,
      queuing?.queueLengthLimit ?? none,
      since(metadata.creationTimestamp, now),
    ]
  },
})

export const priorityClasses: Printer = printer({
  fields: { metadata: named, value: 'integer', globalDefault: 'flag', preemptionPolicy: 'text?' },
  cells: ({ metadata, value, globalDefault, preemptionPolicy }, now) => [
    metadata.name,
    value,
    globalDefault,
    since(metadata.creationTimestamp, now),
    preemptionPolicy ?? '',
  ],
})

export const podGroups: Printer = printer({
  fields: {
    metadata: named,
    spec: {
      podGroupTemplateRef: { '?': { workload: { '?': { workloadName: 'text' } } } },
      schedulingPolicy: { gang: 'isSet' },
    },
    status: { conditions: [{ type: 'text', status: 'text', reason: 'text' }] },
  },
  cells({ metadata, spec, status: { conditions } }, now) {
    const scheduled = conditions.findLast(({ type }) => type === 'PodGroupScheduled')
    const placed = scheduled?.status === 'True' ? 'Scheduled' : 'Unschedulable'
    const state = scheduled === undefined ? 'Pending' : placed
    return [
      metadata.name,
      spec.schedulingPolicy.gang ? 'Gang' : 'Basic',
      spec.podGroupTemplateRef?.workload?.workloadName ?? none,
      conditions.findLast(({ type }) => type === 'DisruptionTarget')?.reason ?? state,
      since(metadata.creationTimestamp, now),
    ]
  },
})

export const runtimeClasses: Printer = printer({
  fields: { metadata: named, handler: 'text' },
  cells: ({ metadata, handler }, now) => [
    metadata.name,
    handler,
    since(metadata.creationTimestamp, now),
  ],
})

export const leases: Printer = printer({
  fields: { metadata: named, spec: { holderIdentity: 'text?' } },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.holderIdentity ?? '',
    since(metadata.creationTimestamp, now),
  ],
})

export const leaseCandidates: Printer = printer({
  fields: {
    metadata: named,
    spec: { leaseName: 'text', binaryVersion: 'text', emulationVersion: 'text' },
  },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.leaseName,
    spec.binaryVersion,
    spec.emulationVersion,
    since(metadata.creationTimestamp, now),
  ],
})

export const resourceClaims: Printer = printer({
  fields: {
    metadata: { ...named, deletionTimestamp: 'isSet' },
    status: { allocation: 'isSet', reservedFor: 'count' },
  },
  cells({ metadata, status }, now) {
    const isDeleted = metadata.deletionTimestamp
    const states = isDeleted ? ['deleted'] : []
    if (status.allocation) states.push('allocated', ...(status.reservedFor > 0 ? ['reserved'] : []))
    else if (!isDeleted) states.push('pending')
    return [metadata.name, states.join(','), since(metadata.creationTimestamp, now)]
  },
})

export const resourceSlices: Printer = printer({
  fields: {
    metadata: named,
    spec: { nodeName: 'text', driver: 'text', pool: { name: 'text' } },
  },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.nodeName,
    spec.driver,
    spec.pool.name,
    since(metadata.creationTimestamp, now),
  ],
})

export const deviceTaintRules: Printer = printer({
  fields: {
    metadata: named,
    spec: { taint: { key: 'text', value: 'text', effect: 'text', timeAdded: 'time?' } },
  },
  cells({ metadata, spec: { taint } }, now) {
    return [
      metadata.name,
      taint.key,
      taint.value,
      taint.effect,
      taint.timeAdded === undefined ? '' : since(taint.timeAdded, now),
      since(metadata.creationTimestamp, now),
    ]
  },
})

const poolCounts = [
  'totalDevices',
  'availableDevices',
  'allocatedDevices',
  'unavailableDevices',
] as const

export const resourcePoolStatusRequests: Printer = printer({
  fields: {
    metadata: named,
    spec: { driver: 'text' },
    status: {
      '?': {
        poolCount: 'integer?',
        pools: [
          {
            totalDevices: 'integer?',
            availableDevices: 'integer?',
            allocatedDevices: 'integer?',
            unavailableDevices: 'integer?',
            validationError: 'text?',
          },
        ],
        conditions: [{ type: 'text', status: 'text', lastTransitionTime: 'time' }],
      },
    },
  },
  cells({ metadata, spec, status }, now): Cell[] {
    const pools = status?.pools ?? []
    const sums = poolCounts.map(name => pools.reduce((sum, pool) => sum + (pool[name] ?? 0), 0))
    const errors = pools.filter(({ validationError }) => validationError !== undefined).length
    const done = status?.conditions.find(
      ({ type, status: value }) => value === 'True' && (type === 'Complete' || type === 'Failed'),
    )
    const isComplete = done?.type === 'Complete'
    const count = status?.poolCount ?? 0
    const isPart = isComplete && count > pools.length
    const hasSums = status !== undefined && (done === undefined || isComplete)
    return [
      metadata.name,
      spec.driver,
      ...[...sums, errors].map(sum => (hasSums ? String(sum) : '-')),
      count,
      isPart ? `Complete (${pools.length}/${count} pools)` : (done?.type ?? 'Pending'),
      isComplete ? since(done.lastTransitionTime, now) : none,
    ]
  },
})

export const apiServices: Printer = printer({
  fields: {
    metadata: named,
    spec: { service: { '?': { namespace: 'text', name: 'text' } } },
    status: { conditions: [{ type: 'text', status: 'text', reason: 'text' }] },
  },
  cells({ metadata, spec: { service }, status }, now) {
    const available = status.conditions.find(({ type }) => type === 'Available')
    const hasReason =
      available !== undefined && available.status !== 'True' && available.reason !== ''
    return [
      metadata.name,
      service === undefined ? 'Local' : `${service.namespace}/${service.name}`,
      hasReason ? `${available.status} (${available.reason})` : (available?.status ?? 'Unknown'),
      since(metadata.creationTimestamp, now),
    ]
  },
})

export const storageVersions: Printer = printer({
  fields: {
    metadata: named,
    status: {
      commonEncodingVersion: 'text?',
      storageVersions: [{ apiServerID: 'text', encodingVersion: 'text' }],
    },
  },
  cells({ metadata, status }, now) {
    const versions = status.storageVersions.map(
      ({ apiServerID, encodingVersion }) => `${apiServerID}=${encodingVersion}`,
    )
    return [
      metadata.name,
      status.commonEncodingVersion ?? unset,
      shortList(versions, unset),
      since(metadata.creationTimestamp, now),
    ]
  },
})

const migrationStates = new Set(['Running', 'Failed', 'Succeeded'])

export const storageVersionMigrations: Printer = printer({
  fields: {
    metadata: { name: 'text' },
    spec: { resource: { group: 'text', resource: 'text' } },
    status: { conditions: [{ type: 'text', status: 'text' }] },
  },
  cells({ metadata, spec, status }) {
    const { group, resource } = spec.resource
    const state = status.conditions.findLast(
      ({ type, status: value }) => value === 'True' && migrationStates.has(type),
    )
    const shown = group === '' ? resource : `${resource}.${group}`
    return [metadata.name, shown, state?.type ?? 'Unknown']
  },
})
