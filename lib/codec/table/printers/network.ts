/** Services and their endpoints, ingresses, addresses, policies. */

import {
  formatSelector,
  isDefault,
  labelsText,
  lowerCase,
  none,
  selectorFields,
  shortList,
  since,
  unset,
} from '../format.ts'
import { type Printer, named, printer } from '../printer.ts'
import type { Picked } from '../pattern.ts'

const loadBalancerFields = { ingress: [{ ip: 'text', hostname: 'text' }] } as const

/** Addresses of a load balancer, each once, sorted. */
function loadBalancerText({ ingress }: Picked<typeof loadBalancerFields>): string {
  const addresses = ingress.map(({ ip, hostname }) => ip || hostname).filter(text => text !== '')
  return [...new Set(addresses)].sort().join(',')
}

const serviceFields = {
  metadata: named,
  spec: {
    type: 'text',
    clusterIP: 'text',
    clusterIPs: 'texts',
    externalIPs: 'texts',
    externalName: 'text',
    ports: [{ port: 'integer', nodePort: 'integer', protocol: 'text' }],
    selector: 'pairs',
  },
  status: { loadBalancer: loadBalancerFields },
} as const

type Service = Picked<typeof serviceFields>

export const services: Printer = printer({
  fields: serviceFields,
  cells(service, now) {
    const { metadata, spec } = service
    const ports = spec.ports.map(({ port, nodePort, protocol }) =>
      nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
    )
    return [
      metadata.name,
      spec.type,
      spec.clusterIPs[0] ?? (spec.clusterIP || none),
      externalText(service),
      ports.join(',') || none,
      since(metadata.creationTimestamp, now),
      labelsText(spec.selector),
    ]
  },
})

function externalText({ spec, status }: Service): string {
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return spec.externalIPs.length === 0 ? none : spec.externalIPs.join(',')
    case 'LoadBalancer': {
      const addresses = loadBalancerText(status.loadBalancer)
      const all = addresses === '' ? spec.externalIPs : [addresses, ...spec.externalIPs]
      return all.length === 0 ? '<pending>' : all.join(',')
    }
    case 'ExternalName':
      return spec.externalName
    default:
      return '<unknown>'
  }
}

export const endpoints: Printer = printer({
  fields: {
    metadata: named,
    subsets: [{ addresses: [{ ip: 'text' }], ports: [{ port: 'integer' }] }],
  },
  cells({ metadata, subsets }, now) {
    const texts = subsets.flatMap(({ addresses, ports }) => {
      const ips = addresses.map(({ ip }) => ip)
      // A headless service may have no ports at all.
      return ports.length === 0
        ? ips
        : ports.flatMap(({ port }) => ips.map(ip => hostPort(ip, port)))
    })
    const text = subsets.length === 0 ? none : shortList(texts, '')
    return [metadata.name, text, since(metadata.creationTimestamp, now)]
  },
})

function hostPort(ip: string, port: number): string {
  return /[:%]/.test(ip) ? `[${ip}]:${port}` : `${ip}:${port}`
}

export const endpointSlices: Printer = printer({
  fields: {
    metadata: named,
    addressType: 'text',
    ports: [{ name: 'text?', port: 'integer?' }],
    endpoints: [{ addresses: 'texts' }],
  },
  cells({ metadata, addressType, ...slice }, now) {
    const ports = slice.ports.map(({ name, port }) =>
      port === undefined ? (name ?? '*') : String(port),
    )
    const addresses = slice.endpoints.flatMap(endpoint => endpoint.addresses)
    return [
      metadata.name,
      addressType,
      shortList(ports, unset),
      shortList(addresses, unset),
      since(metadata.creationTimestamp, now),
    ]
  },
})

export const ingresses: Printer = printer({
  fields: {
    metadata: named,
    spec: { ingressClassName: 'text?', rules: [{ host: 'text' }], tls: 'count' },
    status: { loadBalancer: loadBalancerFields },
  },
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    spec.ingressClassName ?? none,
    hostsText(spec.rules.map(({ host }) => host)),
    loadBalancerText(status.loadBalancer),
    spec.tls === 0 ? '80' : '80, 443',
    since(metadata.creationTimestamp, now),
  ],
})

/** Three hosts at most. Once three are shown, every further rule counts as one more, with a host or
 *  without. */
function hostsText(hosts: readonly string[]): string {
  const shown: string[] = []
  for (const host of hosts) {
    if (shown.length === 3) return `${shown.join(',')} + ${hosts.length - 3} more...`
    if (host !== '') shown.push(host)
  }
  return shown.length === 0 ? '*' : shown.join(',')
}

export const ingressClasses: Printer = printer({
  fields: {
    metadata: { ...named, annotations: 'pairs' },
    spec: {
      controller: 'text',
      parameters: { '?': { apiGroup: 'text?', kind: 'text', name: 'text' } },
    },
  },
  cells({ metadata, spec: { controller, parameters } }, now, schema) {
    const isDefaultClass =
      schema.has('ingressClassDefault') &&
      isDefault(metadata.annotations, 'ingressclass.kubernetes.io/is-default-class')
    const group = parameters?.apiGroup === undefined ? '' : `.${parameters.apiGroup}`
    return [
      isDefaultClass ? `${metadata.name} (default)` : metadata.name,
      controller,
      parameters === undefined ? none : `${parameters.kind}${group}/${parameters.name}`,
      since(metadata.creationTimestamp, now),
    ]
  },
})

/** The server prints an age for which it declares no column. */
export const ipAddresses: Printer = printer({
  fields: {
    metadata: named,
    spec: {
      parentRef: { '?': { group: 'text', resource: 'text', namespace: 'text', name: 'text' } },
    },
  },
  cells({ metadata, spec: { parentRef } }, now) {
    const age = since(metadata.creationTimestamp, now)
    if (parentRef === undefined) return [metadata.name, none, age]
    const { group, resource, namespace, name } = parentRef
    const kind = lowerCase(group === '' ? resource : `${resource}.${group}`)
    return [metadata.name, [kind, ...(namespace === '' ? [] : [namespace]), name].join('/'), age]
  },
})

export const serviceCidrs: Printer = printer({
  fields: { metadata: named, spec: { cidrs: 'texts' } },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec.cidrs.join(','),
    since(metadata.creationTimestamp, now),
  ],
})

export const networkPolicies: Printer = printer({
  fields: { metadata: named, spec: { podSelector: selectorFields } },
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    formatSelector(spec.podSelector),
    since(metadata.creationTimestamp, now),
  ],
})
