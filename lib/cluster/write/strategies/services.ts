/** Services: what is filled in by default, and the addresses and ports that they are given.
 *  Addresses come from a counter: nothing routes to them. */

import {
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberOf,
} from '../../../codec/json/tree.ts'
import { copyMember, isEqual, number, numberOf, textOf } from '../metadata.ts'
import type { ServiceAllocator, StrategyRow } from './row.ts'

const affinitySeconds = 10_800

/** The defaults that depend on the type of a Service. The others are among the schema's. */
export function completeService(object: JsonObject): void {
  const spec = specOf(object)
  if (spec === undefined) return
  if (textOf(spec.get('sessionAffinity')) === '') spec.set('sessionAffinity', 'None')
  if (spec.get('sessionAffinity') === 'None') spec.delete('sessionAffinityConfig')
  else if (spec.get('sessionAffinity') === 'ClientIP') setAffinity(spec)
  if (typeOf(spec) === '') spec.set('type', 'ClusterIP')
  for (const port of itemsOf(spec.get('ports'))) completePort(port)
  const type = typeOf(spec)
  if (isExternal(spec) && textOf(spec.get('externalTrafficPolicy')) === '') {
    spec.set('externalTrafficPolicy', 'Cluster')
  }
  if (type !== 'ExternalName' && (spec.get('internalTrafficPolicy') ?? null) === null) {
    spec.set('internalTrafficPolicy', 'Cluster')
  }
  if (type !== 'LoadBalancer') return
  if ((spec.get('allocateLoadBalancerNodePorts') ?? null) === null) {
    spec.set('allocateLoadBalancerNodePorts', true)
  }
  const ingresses = memberOf(memberOf(object.get('status'), 'loadBalancer'), 'ingress')
  for (const ingress of itemsOf(ingresses)) {
    if (!(ingress instanceof Map) || textOf(ingress.get('ip')) === '') continue
    if ((ingress.get('ipMode') ?? null) === null) ingress.set('ipMode', 'VIP')
  }
}

function setAffinity(spec: JsonObject): void {
  const seconds = memberOf(
    memberOf(spec.get('sessionAffinityConfig'), 'clientIP'),
    'timeoutSeconds',
  )
  if ((seconds ?? null) !== null) return
  const clientIP: JsonObject = new Map([['timeoutSeconds', number(affinitySeconds)]])
  spec.set('sessionAffinityConfig', new Map([['clientIP', clientIP]]))
}

function completePort(port: JsonValue): void {
  if (!(port instanceof Map)) return
  if (textOf(port.get('protocol')) === '') port.set('protocol', 'TCP')
  const target = port.get('targetPort') ?? null
  if (target === null || target === '' || numberOf(target) === 0) {
    port.set('targetPort', port.get('port') ?? number(0))
  }
}

function specOf(object: JsonObject): JsonObject | undefined {
  const spec = object.get('spec')
  return spec instanceof Map ? spec : undefined
}

function typeOf(spec: JsonObject): string {
  return textOf(spec.get('type'))
}

function isExternal(spec: JsonObject): boolean {
  const type = typeOf(spec)
  if (type === 'LoadBalancer' || type === 'NodePort') return true
  return type === 'ClusterIP' && itemsOf(spec.get('externalIPs')).length > 0
}

function hasNodePorts(spec: JsonObject): boolean {
  return typeOf(spec) === 'NodePort' || typeOf(spec) === 'LoadBalancer'
}

function hasHealthPort(spec: JsonObject): boolean {
  return typeOf(spec) === 'LoadBalancer' && spec.get('externalTrafficPolicy') === 'Local'
}

function hasAddress(spec: JsonObject): boolean {
  return typeOf(spec) !== 'ExternalName'
}

export const services: StrategyRow = {
  hasStatus: true,
  createsOnUpdate: true,
  returnsDeleted: true,
  prepareCreate: (object, { allocator }) => {
    const spec = specOf(object)
    if (spec === undefined) return
    const address = textOf(spec.get('clusterIP'))
    if (address !== '' && itemsOf(spec.get('clusterIPs')).length === 0) {
      spec.set('clusterIPs', [address])
    }
    allocate(spec, allocator)
  },
  prepareUpdate: (object, old, { allocator }) => {
    const [spec, known] = [specOf(object), specOf(old)]
    if (spec === undefined || known === undefined) return
    keepAllocated(spec, known)
    alignAddresses(spec, known)
    allocate(spec, allocator)
    dropWhatTheTypeLacks(object, spec, known)
  },
}

/** Gives what is missing. */
function allocate(spec: JsonObject, allocator: ServiceAllocator): void {
  if (hasAddress(spec)) {
    setFamilies(spec)
    if (textOf(spec.get('clusterIP')) === '') {
      const address = allocator.address()
      spec.set('clusterIP', address)
      spec.set('clusterIPs', [address])
    }
  }
  const givesPorts =
    typeOf(spec) === 'NodePort' ||
    (typeOf(spec) === 'LoadBalancer' && spec.get('allocateLoadBalancerNodePorts') !== false)
  if (givesPorts) {
    for (const port of itemsOf(spec.get('ports'))) {
      if (port instanceof Map && (numberOf(port.get('nodePort')) ?? 0) === 0) {
        port.set('nodePort', number(allocator.port()))
      }
    }
  }
  if (hasHealthPort(spec) && (numberOf(spec.get('healthCheckNodePort')) ?? 0) === 0) {
    spec.set('healthCheckNodePort', number(allocator.port()))
  }
}

/** The cluster has IPv4 only. A headless Service without a selector may have endpoints of any
 *  family. */
function setFamilies(spec: JsonObject): void {
  const selector = spec.get('selector')
  const isFree = spec.get('clusterIP') === 'None' && !(selector instanceof Map && selector.size > 0)
  const isUnset =
    itemsOf(spec.get('ipFamilies')).length === 0 && (spec.get('ipFamilyPolicy') ?? null) === null
  if (isUnset && isFree) {
    spec.set('ipFamilies', ['IPv4', 'IPv6'])
    spec.set('ipFamilyPolicy', 'RequireDualStack')
    return
  }
  if (itemsOf(spec.get('ipFamilies')).length === 0) spec.set('ipFamilies', ['IPv4'])
  if ((spec.get('ipFamilyPolicy') ?? null) === null) spec.set('ipFamilyPolicy', 'SingleStack')
}

/** Keeps the addresses and ports that a client leaves out as they were given. */
function keepAllocated(spec: JsonObject, known: JsonObject): void {
  if (hasAddress(known) && hasAddress(spec)) {
    if (textOf(spec.get('clusterIP')) === '') copyMember(spec, known, 'clusterIP')
    if (itemsOf(spec.get('clusterIPs')).length === 0) copyMember(spec, known, 'clusterIPs')
  }
  if (hasNodePorts(known) && hasNodePorts(spec)) keepPorts(spec, known)
  if (hasHealthPort(known) && hasHealthPort(spec)) {
    if ((numberOf(spec.get('healthCheckNodePort')) ?? 0) === 0) {
      copyMember(spec, known, 'healthCheckNodePort')
    }
  }
}

function portsOf(spec: JsonObject): number[] {
  return itemsOf(spec.get('ports'))
    .map(port => numberOf(memberOf(port, 'nodePort')) ?? 0)
    .filter(port => port !== 0)
}

function keepPorts(spec: JsonObject, known: JsonObject): void {
  const wanted = new Set(portsOf(spec))
  const used = new Set(portsOf(known).filter(port => wanted.has(port)))
  const byName = new Map(
    itemsOf(known.get('ports')).map(port => [
      textOf(memberOf(port, 'name')),
      numberOf(memberOf(port, 'nodePort')) ?? 0,
    ]),
  )
  for (const port of itemsOf(spec.get('ports'))) {
    if (!(port instanceof Map) || (numberOf(port.get('nodePort')) ?? 0) !== 0) continue
    const before = byName.get(textOf(port.get('name'))) ?? 0
    if (before !== 0 && !used.has(before)) port.set('nodePort', new JsonNumber(String(before)))
  }
}

/** Clients may know of the first address only. */
function alignAddresses(spec: JsonObject, known: JsonObject): void {
  const [address, before] = [textOf(spec.get('clusterIP')), textOf(known.get('clusterIP'))]
  const isListSame = isEqual(spec.get('clusterIPs'), known.get('clusterIPs'))
  if (address === before || !isListSame) return
  if (before !== '' && address === '') spec.delete('clusterIPs')
  else spec.set('clusterIPs', [address])
}

function dropWhatTheTypeLacks(object: JsonObject, spec: JsonObject, known: JsonObject): void {
  const dropIfSame = (...names: readonly string[]): void => {
    if (names.every(name => isEqual(spec.get(name), known.get(name)))) {
      for (const name of names) spec.delete(name)
    }
  }
  if (hasAddress(known) && !hasAddress(spec)) {
    dropIfSame('clusterIP', 'clusterIPs')
    dropIfSame('ipFamilies')
    dropIfSame('ipFamilyPolicy')
  }
  if (hasNodePorts(known) && !hasNodePorts(spec)) {
    const before = new Set(portsOf(known))
    if (portsOf(spec).every(port => before.has(port))) {
      for (const port of itemsOf(spec.get('ports'))) {
        if (port instanceof Map) port.delete('nodePort')
      }
    }
  }
  if (hasHealthPort(known) && !hasHealthPort(spec)) dropIfSame('healthCheckNodePort')
  if (typeOf(known) === 'LoadBalancer' && typeOf(spec) !== 'LoadBalancer') {
    dropIfSame('allocateLoadBalancerNodePorts')
    dropIfSame('loadBalancerClass')
  }
  if (isExternal(known) && !isExternal(spec)) dropIfSame('externalTrafficPolicy')
  const status = object.get('status')
  if (typeOf(spec) !== 'LoadBalancer' && status instanceof Map) {
    status.set('loadBalancer', new Map())
  }
}
