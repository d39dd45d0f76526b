/** The addresses and ports that Services are given. Addresses come from a counter: nothing routes
 *  to them. */

import { itemsOf, JsonNumber, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { plainError } from '@watchglass/kube'
import { type FieldError, invalid } from '../../../field-errors.ts'
import { copyMember, isEqual, number, numberOf, textOf } from '../../../metadata.ts'
import { internalError } from '../../../refusals.ts'
import { Place } from '../../../validation/place.ts'
import type { NumbersInUse, PortRange, StrategyContext } from '../../kind.ts'
import { checkServiceAddresses } from './addresses.ts'
import {
  getsNodePorts,
  hasAddress,
  hasHealthPort,
  hasNodePorts,
  isExternal,
  specOf,
  typeOf,
} from './spec.ts'

/** With errors in these fields nothing is given out; the rules of the kind say what is wrong. */
export function mayHaveAddresses(object: JsonObject, old: JsonObject | undefined): boolean {
  const before = old && new Place(old, '', [])
  return checkServiceAddresses(new Place(object, '', []), before)
}

/** Gives a Service the addresses and ports that it lacks. */
export function allocate(spec: JsonObject, { allocator, numbers }: StrategyContext): void {
  const nextPort = (): JsonNumber => {
    const port = nextFree(
      () => placedPort(allocator.port(), numbers.nodePorts),
      port => numbers.hasPort(port),
    )
    if (port === undefined) throw plainError('failed to allocate a nodePort: range is full')
    return number(port)
  }
  if (hasAddress(spec)) {
    setFamilies(spec)
    if (textOf(spec.get('clusterIP')) === '') {
      const address = nextFree(
        () => numbers.placed(allocator.address()),
        one => numbers.hasAddress(one),
      )
      if (address === undefined) throw plainError('failed to allocate a serviceIP: range is full')
      spec.set('clusterIP', address)
      spec.set('clusterIPs', [address])
    }
  }
  if (getsNodePorts(spec)) {
    for (const port of itemsOf(spec.get('ports'))) {
      if (!(port instanceof Map) || (numberOf(port.get('nodePort')) ?? 0) !== 0) continue
      port.set('nodePort', sharedPort(spec, port.get('port')) ?? nextPort())
    }
  }
  if (hasHealthPort(spec) && (numberOf(spec.get('healthCheckNodePort')) ?? 0) === 0) {
    spec.set('healthCheckNodePort', nextPort())
  }
}

/** The corresponding place in the range of this cluster, for a port that was drawn out of that of
 *  kube-apiserver. */
function placedPort(port: number, range: PortRange | undefined): number {
  if (range === undefined) return port
  return range.first + ((port - firstDrawnPort) % (range.last - range.first + 1))
}

/** The first port that an allocator gives out (`generated-values.ts`). */
const firstDrawnPort = 30_000

/** The range of ports has fewer, and of so many addresses one after the other hardly all are
 *  taken. */
const triesMax = 3000

function nextFree<T>(next: () => T, isTaken: (value: T) => boolean): T | undefined {
  for (let tries = 0; tries < triesMax; tries++) {
    const value = next()
    if (!isTaken(value)) return value
  }
  return undefined
}

/** One port of nodes serves all protocols of a port. */
function sharedPort(spec: JsonObject, port: JsonValue | undefined): JsonValue | undefined {
  const known = itemsOf(spec.get('ports')).find(
    other =>
      numberOf(memberOf(other, 'port')) === numberOf(port) &&
      (numberOf(memberOf(other, 'nodePort')) ?? 0) !== 0,
  )
  return known === undefined ? undefined : memberOf(known, 'nodePort')
}

function whyNot(address: string, numbers: NumbersInUse): string | undefined {
  if (!numbers.isInRange(address)) return 'the provided network does not match the current range'
  return numbers.hasAddress(address) ? 'provided IP is already allocated' : undefined
}

/** Numbers that were asked for, and that another Service has. */
export function takenNumbers(
  spec: JsonObject,
  known: JsonObject | undefined,
  numbers: NumbersInUse,
): readonly FieldError[] {
  const address = textOf(spec.get('clusterIP'))
  const isNew = known === undefined || textOf(known.get('clusterIP')) !== address
  const reason = isNew && hasAddress(spec) ? whyNot(address, numbers) : undefined
  if (reason !== undefined) {
    const detail = `failed to allocate IP ${address}: ${reason}`
    return [invalid('spec.clusterIPs', spec.get('clusterIPs') ?? [], detail)]
  }
  const ports = hasNodePorts(spec) ? itemsOf(spec.get('ports')) : []
  return known === undefined
    ? takenByNew(spec, ports, numbers)
    : takenByChanged(ports, portsOf(known), numbers)
}

const portIsTaken = 'provided port is already allocated'

/** Why a Service may not have a port that it asks for. */
function portProblem(
  port: number,
  { nodePorts }: NumbersInUse,
  isTaken: boolean,
): string | undefined {
  if (nodePorts !== undefined && (port < nodePorts.first || port > nodePorts.last)) {
    const range = `${nodePorts.first}-${nodePorts.last}`
    return `provided port is not in the valid range. The range of valid ports is ${range}`
  }
  return isTaken ? portIsTaken : undefined
}

/** Ports of a new Service: those with one number have one port of nodes, and no others have it. */
function takenByNew(
  spec: JsonObject,
  ports: readonly JsonValue[],
  numbers: NumbersInUse,
): readonly FieldError[] {
  const own = new Map<number, number>()
  const given = new Set<number>()
  const isTaken = (wanted: number): boolean => numbers.hasPort(wanted) || given.has(wanted)
  for (const [i, port] of ports.entries()) {
    const [number, asked] = ['port', 'nodePort'].map(name => numberOf(memberOf(port, name)) ?? 0)
    const known = own.get(number ?? 0)
    const shared = numberOf(sharedPort(spec, memberOf(port, 'port'))) ?? 0
    const wanted = known === undefined ? shared : (asked ?? 0)
    if (wanted === 0 || wanted === known) continue
    const problem = portProblem(wanted, numbers, isTaken(wanted))
    if (problem !== undefined) return [invalid(`spec.ports[${i}].nodePort`, wanted, problem)]
    if (known !== undefined) continue
    own.set(number ?? 0, wanted)
    given.add(wanted)
  }
  const health = numberOf(spec.get('healthCheckNodePort')) ?? 0
  const problem = portProblem(health, numbers, isTaken(health))
  if (hasHealthPort(spec) && health !== 0 && problem !== undefined) {
    throw internalError(`failed to allocate requested HealthCheck NodePort ${health}: ${problem}`)
  }
  return []
}

/** Ports of a changed Service: none of a protocol has the same port of nodes as another one. */
function takenByChanged(
  ports: readonly JsonValue[],
  before: readonly number[],
  numbers: NumbersInUse,
): readonly FieldError[] {
  const own = new Set<string>()
  for (const [i, port] of ports.entries()) {
    const wanted = numberOf(memberOf(port, 'nodePort')) ?? 0
    if (wanted === 0) continue
    const problem = portProblem(wanted, numbers, numbers.hasPort(wanted))
    if (!before.includes(wanted) && problem !== undefined) {
      return [invalid(`spec.ports[${i}].nodePort`, wanted, problem)]
    }
    const name = `${textOf(memberOf(port, 'protocol'))} ${wanted}`
    if (own.has(name)) {
      throw plainError(`duplicate nodePort: {${name}}`)
    }
    own.add(name)
  }
  return []
}

/** The cluster has IPv4 only. A headless Service without a selector may have endpoints of any
 *  family: unless it wants a single one, it gets both. */
function setFamilies(spec: JsonObject): void {
  const families = itemsOf(spec.get('ipFamilies')).map(textOf)
  if (families.length === 0) families.push('IPv4')
  if (isFree(spec) && spec.get('ipFamilyPolicy') !== 'SingleStack' && families.length === 1) {
    families.push(families[0] === 'IPv4' ? 'IPv6' : 'IPv4')
  }
  spec.set('ipFamilies', families)
}

function isFree(spec: JsonObject): boolean {
  const selector = spec.get('selector')
  return spec.get('clusterIP') === 'None' && !(selector instanceof Map && selector.size > 0)
}

/** The policy for address families: without one, a Service keeps the policy that it had. */
export function choosePolicy(spec: JsonObject, known: JsonObject | undefined): void {
  if (!hasAddress(spec) || (spec.get('ipFamilyPolicy') ?? null) !== null) return
  const before = known?.get('ipFamilyPolicy') ?? null
  spec.set('ipFamilyPolicy', before ?? (isFree(spec) ? 'RequireDualStack' : 'SingleStack'))
}

/** Removes the second address family of a Service that asks for a single one again: a client need
 *  not remove it itself. */
export function keepOneFamily(spec: JsonObject, known: JsonObject): void {
  const isLess =
    spec.get('ipFamilyPolicy') === 'SingleStack' && known.get('ipFamilyPolicy') !== 'SingleStack'
  if (!isLess || !hasAddress(spec)) return
  for (const list of ['clusterIPs', 'ipFamilies']) {
    const items = itemsOf(spec.get(list))
    if (items.length > 1 && isEqual(items as JsonValue, known.get(list))) {
      spec.set(list, items.slice(0, 1))
    }
  }
}

/** Nobody ever sees the policy of a Service that is only a name, but it is stored: a patch that
 *  makes the Service another one again keeps it. */
export function restoreInternalPolicy(
  object: JsonObject,
  stored: () => JsonValue | undefined,
): void {
  const spec = specOf(object)
  if (spec === undefined || hasAddress(spec)) return
  const policy = memberOf(memberOf(stored(), 'spec'), 'internalTrafficPolicy')
  if (policy !== undefined) spec.set('internalTrafficPolicy', policy)
}

/** Keeps the addresses and ports that a client leaves out as they were given. */
export function keepAllocated(spec: JsonObject, known: JsonObject): void {
  if (hasAddress(known) && hasAddress(spec)) {
    if (textOf(spec.get('clusterIP')) === '') copyMember(spec, known, 'clusterIP')
    if (itemsOf(spec.get('clusterIPs')).length === 0) copyMember(spec, known, 'clusterIPs')
  }
  if (getsNodePorts(known) && getsNodePorts(spec)) keepPorts(spec, known)
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

/** Makes the list of addresses follow `clusterIP`: old clients know the first address only. */
export function alignAddresses(spec: JsonObject, known: JsonObject): void {
  const [address, before] = [textOf(spec.get('clusterIP')), textOf(known.get('clusterIP'))]
  const isListSame = isEqual(spec.get('clusterIPs'), known.get('clusterIPs'))
  if (address === before || !isListSame) return
  if (before !== '' && address === '') spec.delete('clusterIPs')
  else spec.set('clusterIPs', [address])
}

export function dropWhatTheTypeLacks(
  object: JsonObject,
  spec: JsonObject,
  known: JsonObject,
): void {
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
