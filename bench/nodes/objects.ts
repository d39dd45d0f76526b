/** The objects of a cluster that its nodes watch, as kube-apiserver stores them. */

import type { MadeObject } from '../../lib/simulator/generate/managed-fields.ts'
import { storedBytes } from '../../lib/simulator/generate/stored.ts'
import { stampDigits, stampOf } from '../watch/orders.ts'
import { nodeName } from '../watch/pods.ts'
import { appNamed, contents, namespaceOfApp } from './node-watches.ts'

export interface QuietObject {
  readonly key: string
  readonly value: Uint8Array
}

/** An object whose value says when it was written. */
export interface StampedObject {
  readonly key: string
  value(nowMicroseconds: number): Uint8Array
}

const endpointsOfSlice = 50

/** Objects that no bench changes. */
export function* quietObjects(nodes: number): Generator<QuietObject> {
  for (let i = 0; i < nodes; i++) yield stored(`minions/${nodeName(i)}`, node(i))
  for (let i = 0; i < contents.namespaces; i++) {
    const [namespace, name] = [namespaceOfApp(i), 'kube-root-ca.crt']
    const data = { 'ca.crt': 'x'.repeat(1_200) }
    const metadata = metadataOf(name, namespace)
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
    yield stored(`configmaps/${namespace}/${name}`, object)
  }
  for (let i = 0; i < contents.apps; i++) {
    const [namespace, name] = [namespaceOfApp(i), appNamed(i)]
    const metadata = metadataOf(name, namespace)
    const settings = { 'application.properties': `level=info\n${'setting=1\n'.repeat(60)}` }
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: settings }
    yield stored(`configmaps/${namespace}/${name}`, configMap)
    const data = { token: Buffer.alloc(300, 'x').toString('base64') }
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data }
    yield stored(`secrets/${namespace}/${name}`, secret)
  }
  for (let i = 0; i < contents.services; i++) {
    const [namespace, name] = [namespaceOfApp(i), appNamed(i)]
    yield stored(`services/specs/${namespace}/${name}`, service(i))
  }
  yield stored('csidrivers/csi.example.com', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: metadataOf('csi.example.com'),
    spec: { attachRequired: true, podInfoOnMount: false },
  })
  yield stored('runtimeclasses/kata', {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: metadataOf('kata'),
    handler: 'kata',
  })
  yield stored('servicecidrs/kubernetes', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: metadataOf('kubernetes'),
    spec: { cidrs: ['10.96.0.0/12'] },
  })
}

/** A slice of each service: all kube-proxies are told of each change. */
export function stampedSlices(): StampedObject[] {
  return Array.from({ length: contents.slices }, (_, number) => {
    const [namespace, name] = [namespaceOfApp(number), `${appNamed(number)}-slice`]
    const metadata = {
      ...metadataOf(name, namespace),
      annotations: { 'bench/stamp': stampOf(0) },
      labels: { 'kubernetes.io/service-name': appNamed(number) },
    }
    return stamped(`endpointslices/${namespace}/${name}`, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata,
      addressType: 'IPv4',
      endpoints: Array.from({ length: endpointsOfSlice }, (_each, i) => ({
        addresses: [`10.1${number % 10}.1${i % 10}.${100 + i}`],
        conditions: { ready: true, serving: true, terminating: false },
        nodeName: nodeName(i),
      })),
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    })
  })
}

/** Kubelets renew these, and nobody watches them. */
export function leasesOf(nodes: number): StampedObject[] {
  return Array.from({ length: nodes }, (_, number) => {
    const metadata = {
      ...metadataOf(nodeName(number), 'kube-node-lease'),
      annotations: { 'bench/stamp': stampOf(0) },
    }
    return stamped(`leases/kube-node-lease/${nodeName(number)}`, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata,
      spec: {
        holderIdentity: nodeName(number),
        leaseDurationSeconds: 40,
        renewTime: '2026-01-01T00:00:00.000000Z',
      },
    })
  })
}

function stamped(path: string, object: MadeObject): StampedObject {
  const { key, value } = stored(path, object)
  const bytes = Buffer.from(value)
  const at = bytes.indexOf(stampOf(0))
  return {
    key,
    value(nowMicroseconds) {
      const copy = Buffer.allocUnsafeSlow(bytes.length)
      bytes.copy(copy)
      copy.write(stampOf(nowMicroseconds), at, stampDigits, 'latin1')
      return copy
    },
  }
}

function stored(path: string, object: MadeObject): QuietObject {
  return { key: `/registry/${path}`, value: storedBytes(object) }
}

function metadataOf(name: string, namespace?: string): MadeObject {
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: '5f0c1b9a-0000-4000-8000-000000000000',
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
}

function node(number: number): MadeObject {
  const name = nodeName(number)
  const quantities = { cpu: '8', memory: '32Gi', pods: '110', 'ephemeral-storage': '100Gi' }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: metadataOf(name),
    spec: { podCIDR: '10.0.0.0/24', providerID: `bench://${name}` },
    status: {
      capacity: quantities,
      allocatable: quantities,
      conditions: ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].map(type => ({
        type,
        status: type === 'Ready' ? 'True' : 'False',
        lastHeartbeatTime: '2026-01-01T00:00:00Z',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        reason: `Kubelet${type}`,
        message: `kubelet says so of ${type}`,
      })),
      images: Array.from({ length: 30 }, (_, i) => ({
        names: [`registry.example.com/team/image-${i}:v1.0.${i}`],
        sizeBytes: 100_000_000 + i,
      })),
    },
  }
}

function service(number: number): MadeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(appNamed(number), namespaceOfApp(number)),
    spec: {
      clusterIP: `10.96.1.${number % 250}`,
      clusterIPs: [`10.96.1.${number % 250}`],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
      selector: { app: appNamed(number) },
      sessionAffinity: 'None',
      type: 'ClusterIP',
      internalTrafficPolicy: 'Cluster',
    },
    status: { loadBalancer: {} },
  }
}
