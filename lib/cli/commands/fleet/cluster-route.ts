/** Which cluster a request is for: by the first two segments of its path (`/clusters/NAME/...`), or
 *  by the host `NAME.DOMAIN`, in the header Host or as the TLS server name. The header counts
 *  before the server name: a connection may be used for several hosts, each with its own header. */

import { type HttpRequest, isForPage } from '@watchglass/cache'

export interface ClusterRoute {
  readonly name: string
  /** The target within the cluster. */
  readonly target: string
}

const begin = '/clusters/'

/** A name of a cluster: a DNS label, which is the same in paths, hosts and labels of metrics. */
export const clusterName: RegExp = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/

/** Undefined for what is no cluster's. Nothing is decoded: a name has no character that would have
 *  to be escaped. */
export function routeOf(
  request: Pick<HttpRequest, 'target' | 'headers' | 'peer'>,
  domain: string | undefined,
): ClusterRoute | undefined {
  const { target } = request
  if (domain !== undefined) {
    const { host } = request.headers
    const name =
      nameIn(host?.replace(/:\d*$/, ''), domain) ?? nameIn(request.peer.serverName, domain)
    if (name !== undefined) return { name, target }
  }
  if (!target.startsWith(begin)) return undefined
  let end = begin.length
  while (end < target.length && target[end] !== '/' && target[end] !== '?') end++
  const name = target.slice(begin.length, end)
  if (name === '') return undefined
  const rest = target.slice(end)
  return { name, target: rest.startsWith('/') ? rest : `/${rest}` }
}

/** True for the page of a cluster without the slash behind its name: addresses in the page begin
 *  there. */
export function lacksSlash(
  request: Pick<HttpRequest, 'method' | 'headers' | 'target'>,
  { target }: ClusterRoute,
): boolean {
  return target === '/' && !request.target.endsWith('/') && isForPage(request, target)
}

const healthPath = /^\/(?:livez|readyz|healthz)(?:\?|$)/

/** A check of health. */
export function asksForHealth({ target }: Pick<HttpRequest, 'target'>): boolean {
  return healthPath.test(target)
}

/** A check of health by nobody in particular, as load balancers and the kubelet send them. */
export function isProbe(request: HttpRequest): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (!isRead || !asksForHealth(request)) return false
  const { peer, headers } = request
  const showsCertificate = peer.certificate() !== undefined || peer.hasRefusedCertificate()
  return headers.authorization === undefined && !showsCertificate
}

/** The label before the domain; undefined if there is none, or several. */
function nameIn(host: string | undefined, domain: string): string | undefined {
  if (host === undefined || host.length <= domain.length + 1) return undefined
  const lower = host.toLowerCase()
  if (!lower.endsWith(`.${domain}`)) return undefined
  const name = lower.slice(0, -domain.length - 1)
  return clusterName.test(name) ? name : undefined
}
