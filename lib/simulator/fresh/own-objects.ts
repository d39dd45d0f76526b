/** The objects that kube-apiserver makes of itself: the Service by which pods reach it, where that
 *  leads, and its lease. */

import { isIP } from 'node:net'
import { firstAddress, usualClusterIpRange } from '../address-range.ts'

/** An object as a client would send it. */
export interface NewObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly [name: string]: unknown
  }
  readonly [name: string]: unknown
}

export interface OwnFacts {
  /** HOST:PORT where it listens. */
  readonly address: string
  /** The address at which others may reach it; left out: that of `address`. */
  readonly advertised?: string | undefined
  /** The range of Services, of which the first address is the server's; left out: that of
   *  kubeadm. */
  readonly clusterIpRange?: string | undefined
  /** RFC 3339, with six digits of a second. */
  readonly now: string
  /** Name of this process, in its lease. */
  readonly holder: string
}

/** The identity of this server, equal after a restart: 26 letters of a hash, as of a host's
 *  name. */
export const serverName = 'apiserver-watchglass2222222222222222'
const hostname = 'watchglass'

const leaseSeconds = 3600

export function ownObjects(facts: OwnFacts): readonly NewObject[] {
  // Zero is a port that is not chosen yet, as workers have it.
  const port = Number(/:(\d+)$/.exec(facts.address)?.[1] ?? 0) || 443
  const serviceAddress = firstAddress(facts.clusterIpRange ?? usualClusterIpRange)
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'kube-apiserver-legacy-service-account-token-tracking',
        namespace: 'kube-system',
      },
      data: { since: facts.now.slice(0, 10) },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kubernetes',
        namespace: 'default',
        labels: { component: 'apiserver', provider: 'kubernetes' },
      },
      spec: {
        type: 'ClusterIP',
        clusterIP: serviceAddress,
        clusterIPs: [serviceAddress],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        internalTrafficPolicy: 'Cluster',
        sessionAffinity: 'None',
        ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: port }],
      },
    },
    ...endpoints(facts.advertised ?? hostIn(facts.address), port),
    lease(facts),
  ]
}

/** The Endpoints and the EndpointSlice of the Service. Their addresses may not be loopback
 *  addresses, so there are none of a server that only this machine can reach: kube-apiserver could
 *  not say where it is, either. */
function endpoints(host: string, port: number): readonly NewObject[] {
  const family = isIP(host)
  const isReachable = family !== 0 && !isOnlyHere(host)
  const ports = [{ name: 'https', port, protocol: 'TCP' }]
  return [
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: {
        name: 'kubernetes',
        namespace: 'default',
        labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
      },
      ...(isReachable ? { subsets: [{ addresses: [{ ip: host }], ports }] } : {}),
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: 'kubernetes',
        namespace: 'default',
        labels: { 'kubernetes.io/service-name': 'kubernetes' },
      },
      addressType: family === 6 ? 'IPv6' : 'IPv4',
      endpoints: isReachable ? [{ addresses: [host], conditions: { ready: true } }] : [],
      ports,
    },
  ]
}

function hostIn(address: string): string {
  return address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '')
}

/** Whether an address is none that others could use: a loopback address, or all addresses. */
function isOnlyHere(host: string): boolean {
  return /^(?:127\.|0\.0\.0\.0$|::1?$)/.test(host)
}

/** The address that a server says of itself. One that listens on a loopback address, or on all,
 *  says that of an interface of the machine, as kube-apiserver does (ResolveBindAddress); undefined
 *  if there is none. */
export function advertisedHost(
  address: string,
  interfaces: readonly { readonly address: string; readonly internal: boolean }[],
): string | undefined {
  const host = hostIn(address)
  if (isIP(host) !== 0 && !isOnlyHere(host)) return host
  return interfaces.find(one => !one.internal && isIP(one.address) === 4)?.address
}

function lease({ holder, now }: OwnFacts): NewObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: serverName,
      namespace: 'kube-system',
      labels: {
        'apiserver.kubernetes.io/identity': 'kube-apiserver',
        'kubernetes.io/hostname': hostname,
      },
    },
    spec: {
      holderIdentity: `${serverName}_${holder}`,
      leaseDurationSeconds: leaseSeconds,
      renewTime: now,
    },
  }
}
