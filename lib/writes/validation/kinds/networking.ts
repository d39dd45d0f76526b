/** Ingresses, IngressClasses and NetworkPolicies. */

import { contains, parseAddress, parsePrefix } from '@watchglass/go'
import { domainPrefixedPath } from '../domain-names.ts'
import {
  byteLength,
  dnsLabel,
  dnsSubdomain,
  pathSegment,
  portName,
  portNumber,
  wildcardSubdomain,
} from '../formats.ts'
import { checkLegacyAddress, checkLegacyPrefix } from '../ip-fields.ts'
import type { KindRules } from '../kind-rules.ts'
import {
  checkFinalizerDomains,
  checkImmutable,
  checkNewMeta,
  checkObjectMeta,
} from '../object-meta.ts'
import type { Place } from '../place.ts'
import { checkLabelSelector } from '../selectors.ts'

export const networkingRules: Readonly<Record<string, KindRules>> = {
  'Ingress.networking.k8s.io': {
    create: object => {
      checkIngress(object.in('spec'))
      checkClassAnnotation(object)
    },
    update: object => {
      checkNewMeta(object)
      checkIngress(object.in('spec'))
    },
    subresources: { status: checkIngressStatus },
  },
  'IngressClass.networking.k8s.io': {
    create: object => checkIngressClass(object.in('spec')),
    update: (object, old) => {
      checkImmutable(object.in('spec', 'controller'), old.in('spec', 'controller'))
      checkObjectMeta(object.in('metadata'), { isNamespaced: false, name: dnsSubdomain })
      checkFinalizerDomains(object.in('metadata'))
      checkIngressClass(object.in('spec'))
    },
  },
  'NetworkPolicy.networking.k8s.io': {
    create: object => checkPolicy(object.in('spec'), []),
    update: (object, old) => checkPolicy(object.in('spec'), prefixesOf(old.in('spec'))),
  },
}

function checkIngress(spec: Place): void {
  const [backend, rules] = [spec.in('defaultBackend'), spec.in('rules')]
  if (rules.size === 0 && !backend.isSet) {
    spec.invalid('either `defaultBackend` or `rules` must be specified', rules.shown)
  }
  if (backend.isSet) checkBackend(backend)
  for (const rule of rules.items) checkRule(rule)
  for (const tls of spec.in('tls').items) {
    for (const host of tls.in('hosts').items) {
      host.mustBe(host.text.includes('*') ? wildcardSubdomain : dnsSubdomain)
    }
    const secret = tls.in('secretName')
    if (secret.text !== '') secret.mustBe(dnsSubdomain)
  }
  if (spec.in('ingressClassName').isSet) spec.in('ingressClassName').mustBe(dnsSubdomain)
}

function checkClassAnnotation(object: Place): void {
  const name = 'kubernetes.io/ingress.class'
  const annotation = object.in('metadata', 'annotations', name)
  const className = object.in('spec', 'ingressClassName')
  if (!annotation.isSet || !className.isSet || annotation.text === className.text) return
  annotation
    .as(`annotations.${name}`)
    .invalid('must match `ingressClassName` when both are specified')
}

function checkRule(rule: Place): void {
  const host = rule.in('host')
  if (host.text !== '') {
    if (parseAddress(host.text) !== undefined) {
      host.invalid('must be a DNS name, not an IP address')
    }
    host.mustBe(host.text.includes('*') ? wildcardSubdomain : dnsSubdomain)
  }
  const http = rule.in('http')
  if (!http.isSet) return
  if (http.in('paths').size === 0) http.in('paths').required()
  for (const path of http.in('paths').items) checkPath(path)
}

const badSequences = ['//', '/./', '/../', '%2f', '%2F']
const badEndings = ['/..', '/.']

function checkPath(item: Place): void {
  const [type, path] = [item.in('pathType'), item.in('path')]
  if (!type.isSet) {
    type.required('pathType must be specified')
    return
  }
  const isExact = type.text === 'Exact' || type.text === 'Prefix'
  if (isExact || type.text === 'ImplementationSpecific') {
    if (!path.text.startsWith('/') && (isExact || path.text !== '')) {
      path.invalid('must be an absolute path', path.text)
    }
  } else type.notSupported(['Exact', 'ImplementationSpecific', 'Prefix'])
  if (isExact) {
    for (const bad of badSequences) {
      if (path.text.includes(bad)) path.invalid(`must not contain '${bad}'`)
    }
    for (const bad of badEndings) {
      if (path.text.endsWith(bad)) path.invalid(`cannot end with '${bad}'`)
    }
  }
  checkBackend(item.in('backend'))
}

function checkBackend(backend: Place): void {
  const [resource, service] = [backend.in('resource'), backend.in('service')]
  if (resource.isSet && service.isSet) {
    backend.invalid('cannot set both resource and service backends', '')
  } else if (resource.isSet) checkReference(resource)
  else if (service.isSet) checkServiceBackend(backend, service)
  else backend.invalid('resource or service backend is required', '')
}

function checkServiceBackend(backend: Place, service: Place): void {
  const [name, port, number] = [
    service.in('name'),
    service.in('port', 'name'),
    service.in('port', 'number'),
  ]
  if (name.text === '') name.required()
  else name.mustBe(dnsLabel)
  if (port.text !== '' && number.number !== 0) {
    backend.invalid('cannot set both port name & port number', '')
  } else if (port.text !== '') port.mustBe(portName)
  else if (number.number !== 0) number.invalidFor(portNumber(number.number))
  else backend.required('port name or number is required')
}

function checkReference(reference: Place): void {
  const [group, kind, name] = [reference.in('apiGroup'), reference.in('kind'), reference.in('name')]
  if (group.isSet) group.mustBe(dnsSubdomain)
  if (kind.text === '') kind.required()
  else kind.mustBe(pathSegment)
  if (name.text === '') name.required()
  else name.mustBe(pathSegment)
}

function checkIngressClass(spec: Place): void {
  const [controller, parameters] = [spec.in('controller'), spec.in('parameters')]
  if (byteLength(controller.text) > 250) controller.tooLong(250)
  domainPrefixedPath(controller)
  if (!parameters.isSet) return
  checkReference(parameters)
  const [scope, namespace] = [parameters.in('scope'), parameters.in('namespace')]
  if (!scope.isSet) {
    scope.required()
    return
  }
  scope.oneOf(['Cluster', 'Namespace'], 'unsupported')
  if (scope.text === 'Namespace') {
    if (!namespace.isSet) {
      namespace.required("`parameters.scope` is set to 'Namespace'")
    } else namespace.mustBe(dnsLabel)
  } else if (scope.text === 'Cluster' && namespace.isSet) {
    namespace.forbidden("`parameters.scope` is set to 'Cluster'")
  }
}

function checkIngressStatus(object: Place, old: Place): void {
  const path = ['status', 'loadBalancer', 'ingress'] as const
  const known = old.in(...path).items.map(item => item.in('ip').text)
  for (const item of object.in(...path).items) {
    const [ip, hostname] = [item.in('ip'), item.in('hostname')]
    if (ip.text !== '') checkLegacyAddress(ip, known)
    if (hostname.text === '') continue
    hostname.mustBe(dnsSubdomain)
    if (parseAddress(hostname.text) !== undefined) {
      hostname.invalid('must be a DNS name, not an IP address')
    }
  }
}

/** The prefixes of a policy; they stay allowed. */
function prefixesOf(spec: Place): string[] {
  const rules = [...spec.in('ingress').items, ...spec.in('egress').items]
  const blocks = rules.flatMap(rule => [...rule.in('from').items, ...rule.in('to').items])
  return blocks.flatMap(peer => {
    const block = peer.in('ipBlock')
    return block.isSet ? [block.in('cidr').text, ...block.in('except').texts] : []
  })
}

function checkPolicy(spec: Place, allowed: readonly string[]): void {
  checkLabelSelector(spec.in('podSelector'))
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

function checkPeer(peer: Place, allowed: readonly string[]): void {
  const [pods, namespaces, block] = [
    peer.in('podSelector'),
    peer.in('namespaceSelector'),
    peer.in('ipBlock'),
  ]
  checkLabelSelector(pods)
  checkLabelSelector(namespaces)
  if (block.isSet) checkBlock(block, allowed)
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
