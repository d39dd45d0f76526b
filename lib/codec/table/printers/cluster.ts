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
      schedulingPolicy: { basic: 'isSet', gang: 'isSet' },
    },
    status: { conditions: [{ type: 'text', status: 'text', reason: 'text' }] },
  },
  cells({ metadata, spec, status }, now) {
    const { basic, gang } = spec.schedulingPolicy
    const scheduled = status.conditions.find(({ type }) => type === 'PodGroupScheduled')
    return [
      metadata.name,
      gang ? 'Gang' : basic ? 'Basic' : none,
      spec.podGroupTemplateRef?.workload?.workloadName ?? none,
      scheduled === undefined
        ? 'Pending'
        : scheduled.status === 'True'
          ? 'Scheduled'
          : scheduled.reason,
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
      since(taint.timeAdded, now),
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
    const is = (wanted: string): { lastTransitionTime: number | null } | undefined =>
      status?.conditions.find(({ type, status: value }) => type === wanted && value === 'True')
    const done = is('Complete') ?? is('Failed')
    const state =
      is('Complete') === undefined ? (done === undefined ? 'Pending' : 'Failed') : 'Complete'
    return [
      metadata.name,
      spec.driver,
      ...sums.map(sum => (status === undefined ? none : String(sum))),
      status === undefined ? none : String(errors),
      status?.poolCount ?? 0,
      state,
      done === undefined ? none : since(done.lastTransitionTime, now),
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

export const storageVersionMigrations: Printer = printer({
  fields: {
    metadata: { name: 'text' },
    spec: { resource: { group: 'text', resource: 'text' } },
    status: { conditions: [{ type: 'text', status: 'text' }] },
  },
  cells({ metadata, spec, status }) {
    const { group, resource } = spec.resource
    const state = status.conditions.findLast(({ status: value }) => value === 'True')?.type
    return [metadata.name, group === '' ? resource : `${resource}.${group}`, state ?? '']
  },
})
