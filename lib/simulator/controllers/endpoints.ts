/** Endpoint slices, and the older Endpoints, of services that select pods. */

import type { Key } from '@watchglass/base'
import { type Fact, factOf, type PodFact } from '../runtime/facts.ts'
import type { Labels, Metadata, Selector } from '../runtime/objects.ts'
import { isSame, nothing, type ReconcileResult, type Write } from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { selects } from '../runtime/selectors.ts'
import { lookAtSelecting } from '../runtime/wiring.ts'
import { controllerReference } from './owner-reference.ts'
import type { ControllerRuntime } from '../runtime/controller-runtime.ts'

export interface Service {
  readonly metadata: Metadata
  readonly spec: {
    readonly selector?: Labels
    readonly ports?: readonly ServicePort[]
    readonly type?: string
    readonly clusterIP?: string
    readonly publishNotReadyAddresses?: boolean
  }
}

interface ServicePort {
  readonly name?: string
  readonly protocol?: string
  readonly port: number
  readonly targetPort?: number | string
  readonly appProtocol?: string
}

export interface EndpointSlice {
  readonly metadata: Metadata
  readonly endpoints?: readonly Endpoint[] | null
  readonly ports?: readonly EndpointPort[] | null
}

interface Endpoint {
  readonly addresses: readonly string[]
  readonly conditions?: object
  readonly nodeName?: string
  readonly zone?: string
  readonly targetRef?: { readonly uid?: string; readonly [member: string]: unknown }
}

interface EndpointPort {
  readonly name?: string
  readonly port?: number
  readonly protocol?: string
  readonly appProtocol?: string
}

export interface OldEndpoints {
  readonly subsets?: readonly object[]
}

/** Everything about a service. */
export interface ServiceParts {
  /** The pods that it selects. */
  readonly pods: readonly PodFact[]
  readonly slices: readonly { readonly key: Key; readonly object: EndpointSlice }[]
  readonly endpoints: OldEndpoints | undefined
  readonly endpointsKey: Key
  /** Somebody else looks after its endpoints. */
  readonly isLeft: boolean
  readonly zoneOf: (node: string) => string | undefined
}

const managedBy = 'endpointslice.kubernetes.io/managed-by'
const manager = 'endpointslice-controller.k8s.io'
const endpointsPerSlice = 100
const addressesMax = 1_000

export function reconcileService(seen: Seen<Service> & ServiceParts): ReconcileResult {
  const { metadata, spec } = seen.object
  const hasSelector = Object.keys(spec.selector ?? {}).length > 0
  if (metadata.deletionTimestamp !== undefined || !hasSelector) return nothing
  if (seen.isLeft) return nothing
  if (spec.type === 'ExternalName') return nothing
  return { writes: [...sliceWrites(seen), ...endpointsWrites(seen)] }
}

/** Endpoints stay in the slice where they are; new ones go where there is room. */
function sliceWrites(seen: Seen<Service> & ServiceParts): Write[] {
  const left = new Map(
    groupsOf(seen).map(({ ports, endpoints }) => {
      const byUid = new Map(endpoints.map(one => [one.targetRef?.uid ?? '', one]))
      return [JSON.stringify(ports), { ports, endpoints: byUid }]
    }),
  )
  const kept = seen.slices
    .filter(({ object }) => object.metadata.labels?.[managedBy] === manager)
    .filter(({ object }) => object.metadata.deletionTimestamp === undefined)
    .map(slice => {
      const group = left.get(JSON.stringify(portsOf(slice.object)))
      const endpoints = (slice.object.endpoints ?? []).flatMap(({ targetRef }) => {
        const uid = targetRef?.uid ?? ''
        const endpoint = group?.endpoints.get(uid)
        group?.endpoints.delete(uid)
        return endpoint === undefined ? [] : [endpoint]
      })
      return { slice, group, endpoints }
    })
  for (const { group, endpoints } of kept) {
    for (const [uid, endpoint] of group?.endpoints ?? []) {
      if (endpoints.length >= endpointsPerSlice) break
      group?.endpoints.delete(uid)
      endpoints.push(endpoint)
    }
  }
  const created = [...left.values()].flatMap(({ ports, endpoints }) =>
    inParts([...endpoints.values()]).map(part => newSlice(seen.object, ports, part)),
  )
  const hasEndpoints = created.length > 0 || kept.some(({ endpoints }) => endpoints.length > 0)
  // A service without endpoints has one empty slice.
  const placeholder = hasEndpoints ? undefined : kept[0]
  const first = hasEndpoints || placeholder !== undefined ? [] : [newSlice(seen.object, [], [])]
  const changed = kept.flatMap(one => changeOf(one, one === placeholder))
  return [...changed, ...created, ...first]
}

function changeOf(
  { slice, endpoints }: { slice: ServiceParts['slices'][number]; endpoints: readonly Endpoint[] },
  isPlaceholder: boolean,
): Write[] {
  const { key, object } = slice
  if (endpoints.length === 0 && !isPlaceholder) {
    return [{ type: 'delete', key, uid: object.metadata.uid }]
  }
  if (isSame(object.endpoints ?? [], endpoints)) return []
  return [{ type: 'patch', key, patch: { endpoints } }]
}

function newSlice(
  { metadata }: Service,
  ports: readonly EndpointPort[],
  endpoints: readonly Endpoint[],
): Write {
  const { name, namespace = '', uid, labels } = metadata
  const owner = { apiVersion: 'v1', kind: 'Service', name, uid }
  return {
    type: 'create',
    group: 'discovery.k8s.io',
    resource: 'endpointslices',
    namespace,
    object: {
      metadata: {
        generateName: `${name}-`,
        namespace,
        labels: { ...labels, [managedBy]: manager, 'kubernetes.io/service-name': name },
        ownerReferences: [controllerReference(owner)],
      },
      addressType: 'IPv4',
      endpoints,
      ports,
    },
  }
}

/** Pods may mean different numbers by the name of a port. */
function groupsOf(
  seen: Seen<Service> & ServiceParts,
): { ports: readonly EndpointPort[]; endpoints: Endpoint[] }[] {
  const groups = new Map<string, { ports: readonly EndpointPort[]; endpoints: Endpoint[] }>()
  const portsFor = portsReader(seen.object)
  for (const pod of seen.pods) {
    if (!isEndpoint(pod)) continue
    const { ports, text: name } = portsFor(pod)
    let group = groups.get(name)
    if (group === undefined) groups.set(name, (group = { ports, endpoints: [] }))
    group.endpoints.push(endpointOf(seen, pod))
  }
  return [...groups.values()]
}

function isEndpoint({ address, phase }: PodFact): boolean {
  return address !== '' && phase !== 'Succeeded' && phase !== 'Failed'
}

function endpointOf({ object, zoneOf }: Seen<Service> & ServiceParts, pod: PodFact): Endpoint {
  const { address, isReady, isDeleting, node, namespace, name, uid } = pod
  const isAlways = object.spec.publishNotReadyAddresses === true
  const zone = zoneOf(node)
  return {
    addresses: [address],
    conditions: {
      ready: (isReady && !isDeleting) || isAlways,
      serving: isReady,
      terminating: isDeleting,
    },
    targetRef: { kind: 'Pod', namespace, name, uid },
    nodeName: node,
    ...(zone === undefined ? {} : { zone }),
  }
}

/** The ports of a service at a pod, and their text. Pods with the same names of ports share them: a
 *  service may have thousands of ports, and of pods. */
function portsReader(
  service: Service,
): (pod: PodFact) => { readonly ports: EndpointPort[]; readonly text: string } {
  const known = new Map<string, { readonly ports: EndpointPort[]; readonly text: string }>()
  const isNamed = service.spec.ports?.some(({ targetPort }) => typeof targetPort === 'string')
  return pod => {
    const names = isNamed === true ? JSON.stringify(pod.ports) : ''
    let found = known.get(names)
    if (found === undefined) {
      const ports = portsAt(service, pod)
      known.set(names, (found = { ports, text: JSON.stringify(ports) }))
    }
    return found
  }
}

function portsAt({ spec }: Service, pod: PodFact): EndpointPort[] {
  return (spec.ports ?? []).flatMap(
    ({ name = '', protocol = 'TCP', port, targetPort, appProtocol }) => {
      const number = typeof targetPort === 'string' ? pod.ports[targetPort] : (targetPort ?? port)
      if (number === undefined) return []
      const known = { name, port: number, protocol }
      return [appProtocol === undefined ? known : { ...known, appProtocol }]
    },
  )
}

/** The ports in the form and order of `portsAt`. */
function portsOf({ ports }: EndpointSlice): EndpointPort[] {
  return (ports ?? []).map(({ name = '', port = 0, protocol = 'TCP', appProtocol }) => {
    const known = { name, port, protocol }
    return appProtocol === undefined ? known : { ...known, appProtocol }
  })
}

function inParts<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / endpointsPerSlice)
  return Array.from({ length: count }, (_, i) =>
    items.slice(i * endpointsPerSlice, (i + 1) * endpointsPerSlice),
  )
}

function endpointsWrites(seen: Seen<Service> & ServiceParts): Write[] {
  const { metadata, spec } = seen.object
  const { name, namespace = '', labels = {} } = metadata
  const subsets = subsetsOf(seen)
  if (seen.endpoints !== undefined) {
    if (isSame(seen.endpoints.subsets ?? [], subsets)) return []
    return [{ type: 'patch', key: seen.endpointsKey, patch: { subsets } }]
  }
  const isHeadless = spec.clusterIP === 'None'
  const own = {
    'endpoints.kubernetes.io/managed-by': 'endpoint-controller',
    ...(isHeadless ? { 'service.kubernetes.io/headless': '' } : {}),
  }
  const object = { metadata: { name, namespace, labels: { ...labels, ...own } }, subsets }
  return [{ type: 'create', group: '', resource: 'endpoints', namespace, object }]
}

function subsetsOf(seen: Seen<Service> & ServiceParts): object[] {
  const isAlways = seen.object.spec.publishNotReadyAddresses === true
  const groups = new Map<string, { ports: EndpointPort[]; ready: object[]; others: object[] }>()
  const portsFor = portsReader(seen.object)
  const pods = seen.pods.filter(pod => isEndpoint(pod) && !pod.isDeleting)
  for (const pod of pods.sort((a, b) => (a.address < b.address ? -1 : 1)).slice(0, addressesMax)) {
    const { ports, text } = portsFor(pod)
    let group = groups.get(text)
    if (group === undefined) groups.set(text, (group = { ports, ready: [], others: [] }))
    const { address: ip, node: nodeName, namespace, name, uid } = pod
    const address = { ip, nodeName, targetRef: { kind: 'Pod', namespace, name, uid } }
    if (pod.isReady || isAlways) group.ready.push(address)
    else group.others.push(address)
  }
  return [...groups.values()].map(({ ports, ready, others }) => ({
    ...(ready.length === 0 ? {} : { addresses: ready }),
    ...(others.length === 0 ? {} : { notReadyAddresses: others }),
    ports: ports.map(({ name, ...rest }) => (name === '' ? rest : { name, ...rest })),
  }))
}

/** Changes of the pods of a service are gathered for so long. */
const gatherMs = 500

interface ServiceFact extends Fact {
  readonly selector: Selector | undefined
}

function serviceFact(key: Key, revision: number, { metadata, spec }: Service): ServiceFact {
  const { selector = {} } = spec
  const hasSelector = Object.keys(selector).length > 0
  const matchLabels = hasSelector ? { matchLabels: selector } : undefined
  return factOf(key, revision, metadata, { selector: matchLabels })
}

function plainFact(key: Key, revision: number, { metadata }: { metadata: Metadata }): Fact {
  return factOf(key, revision, metadata, {})
}

/** `isLeft`: whoever has made the pod looks after its endpoints, too. */
export function wireServices(runtime: ControllerRuntime, isLeft: (pod: PodFact) => boolean): void {
  const services = runtime.informer('services/specs', serviceFact)
  const slices = runtime.informer('endpointslices', plainFact)
  const endpoints = runtime.informer('services/endpoints', plainFact)
  const api = runtime.api('kube-controller-manager')
  const controller = runtime.controller<Service, ServiceParts>({
    name: 'the endpoints of a simulated service',
    source: { component: 'endpoint-slice-controller' },
    gather: async ({ metadata: { uid, name, namespace = '' } }, key) => {
      const endpointsKey = endpoints.keyOf(namespace, name)
      const pods = podsOf(key)
      const own = [...slices.index.ownedBy(uid)].map(async slice => {
        const found = await api.find<EndpointSlice>(slice.key)
        return found === undefined ? [] : [{ key: slice.key, object: found.object }]
      })
      return {
        pods,
        slices: (await Promise.all(own)).flat(),
        endpoints: (await api.find<OldEndpoints>(endpointsKey))?.object,
        endpointsKey,
        isLeft: pods.some(isLeft),
        zoneOf: node => runtime.nodes.at('', node)?.labels['topology.kubernetes.io/zone'],
      }
    },
    reconcile: reconcileService,
  })
  const lookSoon = (key: Key): void => controller.lookAfter(key, gatherMs)
  const podsOf: (key: Key) => PodFact[] = lookAtSelecting(runtime, {
    informer: services,
    matches: selects,
    lookAt: lookSoon,
  })
  runtime.owners('Service', services, ({ key }) => lookSoon(key))
  runtime.tellOwners(slices)
  // Nobody owns the endpoints of a service.
  const forget = runtime.queue('the endpoints of a service that is gone', async key => {
    const known = endpoints.index.get(key)
    if (known !== undefined) await api.deleteAt(key, known.uid)
  })
  services.listen({
    // The first look at a new service does not wait: `kubectl expose` is followed by a request.
    changed: ({ key, uid }) => {
      if (slices.index.countOwnedBy(uid) === 0) controller.lookAt(key)
    },
    gone: ({ key, namespace, name }) => {
      controller.forget(key)
      forget.add(endpoints.keyOf(namespace, name))
    },
  })
}
