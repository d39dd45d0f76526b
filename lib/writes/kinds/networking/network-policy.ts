/** NetworkPolicies: prefixes that are stored may stay in forms that new ones may not have. */

import { contains, parsePrefix } from '@watchglass/go'
import { portName, portNumber } from '../../validation/formats.ts'
import { checkLegacyPrefix } from '../../validation/ip-fields.ts'
import type { Place } from '../../validation/place.ts'
import { checkLabelSelector, isWrongSelector } from '../../validation/selectors.ts'
import { ofPrefix } from '../../warnings/addresses.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const networkPolicy: BuiltInKind = kind({
  group: 'networking.k8s.io',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  counted: ['spec'],
  countsEmpties: true,
  validateCreate: object => checkPolicy(object.in('spec'), { prefixes: [], areValuesFree: false }),
  validateUpdate: (object, old) => {
    const spec = old.in('spec')
    const areValuesFree = isWrongSelector(spec.in('podSelector'))
    checkPolicy(object.in('spec'), { prefixes: prefixesOf(spec), areValuesFree })
  },
  warn: ofNetworkPolicy,
})

/** The prefixes of a policy; they stay allowed. */
function prefixesOf(spec: Place): string[] {
  const rules = [...spec.in('ingress').items, ...spec.in('egress').items]
  const blocks = rules.flatMap(rule => [...rule.in('from').items, ...rule.in('to').items])
  return blocks.flatMap(peer => {
    const block = peer.in('ipBlock')
    return block.isSet ? [block.in('cidr').text, ...block.in('except').texts] : []
  })
}

/** The faults of a stored policy that may stay. */
interface Allowed {
  readonly prefixes: readonly string[]
  readonly areValuesFree: boolean
}

function checkPolicy(spec: Place, allowed: Allowed): void {
  checkLabelSelector(spec.in('podSelector'), allowed)
  for (const [name, peers] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    for (const rule of spec.in(name).items) {
      for (const port of rule.in('ports').items) checkPolicyPort(port)
      for (const peer of rule.in(peers).items) checkPeer(peer, allowed)
    }
  }
  const types = spec.in('policyTypes')
  if (types.size > 2) {
    types.invalid('may not specify more than two policyTypes')
    return
  }
  for (const type of types.items) type.oneOf(['Ingress', 'Egress'], 'unsupported')
}

function checkPolicyPort(item: Place): void {
  const [protocol, port, end] = [item.in('protocol'), item.in('port'), item.in('endPort')]
  if (protocol.isSet) protocol.oneOf(['TCP', 'UDP', 'SCTP'], 'unsupported')
  if (!port.isSet) {
    if (end.isSet) end.invalid('may not be specified when `port` is not specified')
  } else if (typeof port.value === 'string') {
    if (end.isSet) end.invalid('may not be specified when `port` is non-numeric')
    port.mustBe(portName)
  } else {
    port.invalidFor(portNumber(port.number))
    if (!end.isSet) return
    if (end.number < port.number) {
      end.invalid('must be greater than or equal to `port`', port.number)
    }
    end.invalidFor(portNumber(end.number))
  }
}

function checkPeer(peer: Place, allowed: Allowed): void {
  const [pods, namespaces, block] = [
    peer.in('podSelector'),
    peer.in('namespaceSelector'),
    peer.in('ipBlock'),
  ]
  checkLabelSelector(pods, allowed)
  checkLabelSelector(namespaces, allowed)
  if (block.isSet) checkBlock(block, allowed.prefixes)
  const count = [pods, namespaces, block].filter(({ isSet }) => isSet).length
  if (count === 0) peer.required('must specify a peer')
  else if (count > 1 && block.isSet) {
    peer.forbidden('may not specify both ipBlock and another peer')
  }
}

function checkBlock(block: Place, allowed: readonly string[]): void {
  const cidr = block.in('cidr')
  if (cidr.text === '') {
    cidr.required()
    return
  }
  checkLegacyPrefix(cidr, allowed)
  const outer = parsePrefix(cidr.text)
  if (outer === undefined) return
  for (const except of block.in('except').items) {
    checkLegacyPrefix(except, allowed)
    const inner = parsePrefix(except.text)
    if (inner === undefined || contains(outer, inner)) continue
    except.invalid('must be a strict subset of `cidr`')
  }
}

function ofNetworkPolicy(object: Place): string[] {
  const spec = object.in('spec')
  const peers = [
    ...spec.in('ingress').items.flatMap(rule => rule.in('from').items),
    ...spec.in('egress').items.flatMap(rule => rule.in('to').items),
  ]
  return peers
    .map(peer => peer.in('ipBlock'))
    .filter(block => block.isSet)
    .flatMap(block => [block.in('cidr'), ...block.in('except').items])
    .flatMap(ofPrefix)
}
