/** The resources that objects use, as quotas count them: of pods what they ask for, of claims their
 *  storage or devices, of Services their ports, of everything the number. */

import { type JsonObject, memberOf, millisecondsFromText } from '@watchglass/go'
import { metadataOf, metaText, numberOf, textOf } from '../../metadata.ts'
import { annotationsOf, nameIn, partOf, partsOf } from '../pod-parts.ts'
import {
  largerOf,
  podResources,
  type ResourceList,
  resourceList,
  sumOf,
} from '../resource-lists.ts'
import { isClaimInScope, isPodInScope, type ScopeSelector } from './scopes.ts'

/** One resource as quotas see it. */
export interface Evaluator {
  /** True for names of resources that its objects use. */
  counts(name: string): boolean
  usage(object: JsonObject, nowMs: number): ResourceList
  isInScope(selector: ScopeSelector, object: JsonObject): boolean
  /** The complaint about an object that does not say what a quota counts; undefined if there is
   *  none. */
  complaint?(object: JsonObject, counted: readonly string[]): string | undefined
}

/** The name under which all objects of a resource are counted. */
export function countName(group: string, resource: string): string {
  return `count/${resource}${group === '' ? '' : `.${group}`}`
}

/** The evaluator of a resource. */
export function evaluatorOf(group: string, resource: string): Evaluator {
  const known = evaluators.get(resource)
  return known?.group === group ? known.evaluator : counter(group, resource)
}

/** Counted under a name of their own, too. */
const oldNames = new Set(['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets'])

function counter(group: string, resource: string): Evaluator {
  const name = countName(group, resource)
  const names = group === '' && oldNames.has(resource) ? [name, resource] : [name]
  const usage: ResourceList = new Map(names.map(one => [one, '1']))
  return {
    counts: one => names.includes(one),
    usage: () => usage,
    isInScope: () => false,
  }
}

const podNames = new Set([
  'count/pods',
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
])

const neededNames = [
  'cpu',
  'limits.cpu',
  'limits.memory',
  'memory',
  'requests.cpu',
  'requests.memory',
]

const pods: Evaluator = {
  counts: name =>
    podNames.has(name) ||
    /^(?:requests\.)?hugepages-/.test(name) ||
    /^requests\.(?!.*kubernetes\.io\/)[^/]+\/./.test(name),
  usage(pod, nowMs) {
    const counted = new Map([['count/pods', '1']])
    if (hasEnded(pod, nowMs)) return counted
    const overhead = resourceList(partOf(pod, 'spec').get('overhead'))
    const requests = sumOf(podResources(pod, 'requests'), overhead)
    const limits = podResources(pod, 'limits')
    const limited = new Map([...overhead].filter(([name]) => limits.has(name)))
    return sumOf(counted, podUsage(requests, sumOf(limits, limited)))
  },
  isInScope: isPodInScope,
  complaint(pod, counted) {
    const spec = pod.get('spec')
    if (partOf(spec, 'resources').size > 0) return undefined
    const needed = neededNames.filter(name => counted.includes(name))
    const missing = new Map<string, string[]>()
    for (const list of ['containers', 'initContainers']) {
      for (const container of partsOf(spec, list)) {
        const resources = partOf(container, 'resources')
        const used = podUsage(
          resourceList(resources.get('requests')),
          resourceList(resources.get('limits')),
        )
        for (const name of needed.filter(one => !used.has(one))) {
          const names = missing.get(name) ?? []
          names.push(nameIn(container))
          missing.set(name, names)
        }
      }
    }
    if (missing.size === 0) return undefined
    const texts = [...missing]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, containers]) => `${name} for: ${[...new Set(containers)].sort().join(',')}`)
    return `must specify ${texts.join('; ')}`
  },
}

/** True for a pod that has ended, or whose time to end is over. */
function hasEnded(pod: JsonObject, nowMs: number): boolean {
  const phase = textOf(memberOf(pod.get('status'), 'phase'))
  if (phase === 'Failed' || phase === 'Succeeded') return true
  const deletedAt = millisecondsFromText(metaText(pod, 'deletionTimestamp'))
  const grace = numberOf(metadataOf(pod).get('deletionGracePeriodSeconds'))
  if (deletedAt === undefined || deletedAt === null || grace === undefined) return false
  return nowMs > deletedAt + grace * 1000
}

function podUsage(requests: ResourceList, limits: ResourceList): ResourceList {
  const usage = new Map([['pods', '1']])
  for (const name of ['cpu', 'memory', 'ephemeral-storage']) {
    const [request, limit] = [requests.get(name), limits.get(name)]
    if (request !== undefined) usage.set(name, request).set(`requests.${name}`, request)
    if (limit !== undefined) usage.set(`limits.${name}`, limit)
  }
  for (const [name, request] of requests) {
    if (name.startsWith('hugepages-')) usage.set(name, request).set(`requests.${name}`, request)
    else if (name.includes('/')) usage.set(`requests.${name}`, request)
  }
  return usage
}

const claimNames = ['persistentvolumeclaims', 'requests.storage']
const classSuffix = '.storageclass.storage.k8s.io/'

const claims: Evaluator = {
  counts: name =>
    name === 'count/persistentvolumeclaims' ||
    claimNames.some(one => name === one || name.endsWith(classSuffix + one)),
  usage(claim) {
    const spec = partOf(claim, 'spec')
    const names = ['count/persistentvolumeclaims', 'persistentvolumeclaims']
    const usage = new Map(names.map(name => [name, '1']))
    const old = textOf(annotationsOf(claim).get('volume.beta.kubernetes.io/storage-class'))
    const storageClass = old || textOf(spec.get('storageClassName'))
    if (storageClass !== '') usage.set(`${storageClass}${classSuffix}persistentvolumeclaims`, '1')
    const requests = resourceList(partOf(spec, 'resources').get('requests'))
    const given = resourceList(memberOf(claim.get('status'), 'allocatedResources'))
    const larger = requests.has('storage') ? largerOf(requests, given) : requests
    const storage = larger.get('storage')
    if (storage === undefined) return usage
    usage.set('requests.storage', storage)
    if (storageClass !== '') usage.set(`${storageClass}${classSuffix}requests.storage`, storage)
    return usage
  },
  isInScope: isClaimInScope,
}

const serviceNames = ['services', 'services.nodeports', 'services.loadbalancers']

const services: Evaluator = {
  counts: name => name === 'count/services' || serviceNames.includes(name),
  usage(service) {
    const spec = partOf(service, 'spec')
    const type = textOf(spec.get('type'))
    const isBalanced = type === 'LoadBalancer'
    const ports = partsOf(spec, 'ports')
    const isUnallocated = isBalanced && spec.get('allocateLoadBalancerNodePorts') === false
    const counted = isUnallocated
      ? ports.filter(port => (numberOf(port.get('nodePort')) ?? 0) !== 0)
      : ports
    return new Map([
      ['count/services', '1'],
      ['services', '1'],
      ['services.loadbalancers', isBalanced ? '1' : '0'],
      ['services.nodeports', isBalanced || type === 'NodePort' ? String(counted.length) : '0'],
    ])
  },
  isInScope: () => false,
}

const deviceSuffix = '.deviceclass.resource.k8s.io/devices'
/** Devices of one claim: that of a request for all that there are. */
const devicesMax = 32

const deviceClaims: Evaluator = {
  counts: name => name === 'count/resourceclaims.resource.k8s.io' || name.endsWith(deviceSuffix),
  usage(claim) {
    let usage: ResourceList = new Map([['count/resourceclaims.resource.k8s.io', '1']])
    for (const request of partsOf(partOf(claim.get('spec'), 'devices'), 'requests')) {
      const choices = partsOf(request, 'firstAvailable')
      // resource.k8s.io/v1beta1 has no part for what is wanted exactly.
      const exactly = request.has('exactly') ? partOf(request, 'exactly') : request
      const lists = (choices.length > 0 ? choices : [exactly]).map(devicesOf)
      usage = sumOf(usage, lists.reduce(largerOf, new Map()))
    }
    return usage
  },
  isInScope: () => false,
}

function devicesOf(request: JsonObject): ResourceList {
  const deviceClass = textOf(request.get('deviceClassName'))
  if (deviceClass === '') return new Map()
  const mode = textOf(request.get('allocationMode'))
  const exact = mode === 'ExactCount' ? (numberOf(request.get('count')) ?? 0) : 0
  const count = mode === 'All' ? devicesMax : exact
  return new Map([[`${deviceClass}${deviceSuffix}`, String(count)]])
}

interface Known {
  readonly group: string
  readonly evaluator: Evaluator
}

const evaluators: ReadonlyMap<string, Known> = new Map([
  ['pods', { group: '', evaluator: pods }],
  ['persistentvolumeclaims', { group: '', evaluator: claims }],
  ['services', { group: '', evaluator: services }],
  ['resourceclaims', { group: 'resource.k8s.io', evaluator: deviceClaims }],
])

/** The resource that a name of a quota counts something of. */
export function countedResource(name: string): {
  readonly group: string
  readonly resource: string
} {
  const match = /^count\/([^.]+)\.?(.*)$/.exec(name)
  if (match !== null) return { group: match[2] ?? '', resource: match[1] ?? '' }
  if (oldNames.has(name)) return { group: '', resource: name }
  for (const [resource, { group, evaluator }] of evaluators) {
    if (evaluator.counts(name)) return { group, resource }
  }
  return { group: '', resource: 'pods' }
}

/** True if the quota is about an object: it counts something of it, and the object is in all its
 *  scopes. */
export function isAbout(
  quota: { readonly hard: ResourceList; readonly selectors: readonly ScopeSelector[] },
  evaluator: Evaluator,
  object: JsonObject,
): boolean {
  if (![...quota.hard.keys()].some(name => evaluator.counts(name))) return false
  return quota.selectors.every(selector => evaluator.isInScope(selector, object))
}
