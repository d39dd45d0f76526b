/** The watches of a node, as kubelet and kube-proxy of Kubernetes 1.36 make them: streaming lists
 *  in protobuf. A kubelet watches each config map and secret that a pod of its node names by
 *  itself. */

import { namespaceOf, nodeName } from '../watch/pods.ts'

/** The objects that all nodes look at. */
export const contents = { namespaces: 10, apps: 200, services: 200, slices: 200 } as const

export type Component = 'kubelet' | 'kube-proxy'

export interface NodeWatch {
  readonly path: string
  readonly by: Component
  /** The kind of its objects, if these bear stamps. */
  readonly stamped?: 'pods' | 'slices' | undefined
}

const streaming =
  'allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=3600&watch=true'
/** The services that are left to kube-proxy, and their slices. */
const proxied =
  'labelSelector=%21service.kubernetes.io%2Fheadless%2C%21service.kubernetes.io%2Fservice-proxy-name&'
const namedByPods = { rootCertificates: 2, configMaps: 4, secrets: 3 } as const

export function appNamed(number: number): string {
  return `app-${String(number % contents.apps).padStart(4, '0')}`
}

export function namespaceOfApp(number: number): string {
  return namespaceOf(1_000 * (number % contents.namespaces))
}

export function watchesOfNode(number: number): readonly NodeWatch[] {
  const node = nodeName(number)
  const named = (path: string, name: string): string =>
    `${path}?fieldSelector=metadata.name%3D${name}&${streaming}`
  const kubelet: NodeWatch[] = [
    { path: named('/api/v1/nodes', node), by: 'kubelet' },
    {
      path: `/api/v1/pods?fieldSelector=spec.nodeName%3D${node}&${streaming}`,
      by: 'kubelet',
      stamped: 'pods',
    },
    { path: `/api/v1/services?${streaming}`, by: 'kubelet' },
    { path: `/apis/storage.k8s.io/v1/csidrivers?${streaming}`, by: 'kubelet' },
    { path: `/apis/node.k8s.io/v1/runtimeclasses?${streaming}`, by: 'kubelet' },
  ]
  const inNamespace = (app: number): string => `/api/v1/namespaces/${namespaceOfApp(app)}`
  for (let i = 0; i < namedByPods.rootCertificates; i++) {
    const path = named(`${inNamespace(number + i)}/configmaps`, 'kube-root-ca.crt')
    kubelet.push({ path, by: 'kubelet' })
  }
  for (let i = 0; i < namedByPods.configMaps; i++) {
    const path = named(`${inNamespace(number + i)}/configmaps`, appNamed(number + i))
    kubelet.push({ path, by: 'kubelet' })
  }
  for (let i = 0; i < namedByPods.secrets; i++) {
    const path = named(`${inNamespace(number + i)}/secrets`, appNamed(number + i))
    kubelet.push({ path, by: 'kubelet' })
  }
  return [
    ...kubelet,
    { path: named('/api/v1/nodes', node), by: 'kube-proxy' },
    { path: `/api/v1/services?${proxied}${streaming}`, by: 'kube-proxy' },
    {
      path: `/apis/discovery.k8s.io/v1/endpointslices?${proxied}${streaming}`,
      by: 'kube-proxy',
      stamped: 'slices',
    },
    { path: `/apis/networking.k8s.io/v1/servicecidrs?${streaming}`, by: 'kube-proxy' },
  ]
}

/** The headers of a component's requests. Each has a token of its own, as long as tokens of service
 *  accounts are. */
export function headersOf(component: Component, number: number): Readonly<Record<string, string>> {
  return {
    accept: 'application/vnd.kubernetes.protobuf,application/json',
    'user-agent': `${component}/v1.36.2 (linux/amd64) kubernetes/bench`,
    authorization: `Bearer ${component}.${number}.${'x'.repeat(900)}`,
  }
}

/** The user whose token that is: each kubelet has one of its own, all kube-proxies are one service
 *  account. */
export function userOf(authorization: string): string {
  const [component, number] = authorization.replace(/^Bearer /, '').split('.')
  return component === 'kubelet'
    ? `system:node:${nodeName(Number(number))}`
    : `system:serviceaccount:kube-system:${component}`
}
