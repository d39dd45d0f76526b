/** Services and the endpoint slices that follow their pods. */

import { textFromMilliseconds } from '@watchglass/go'
import { fieldsOf, type MadeObject, managedBy } from './managed-fields.ts'
import { serviceAddress } from './names.ts'
import type { Workload } from './topology.ts'

/** The endpoint slice controller's limit for one slice. */
const endpointsPerSlice = 100

export interface ServiceRecord {
  readonly workload: Workload
  readonly number: number
  readonly uid: string
  readonly sliceUids: string[]
}

export function serviceObject({ workload, number, uid }: ServiceRecord): MadeObject {
  const clusterIp = serviceAddress(number)
  const spec = {
    ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: workload.port }],
    selector: { app: workload.name },
    clusterIP: clusterIp,
    clusterIPs: [clusterIp],
    type: 'ClusterIP',
    sessionAffinity: 'None',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    internalTrafficPolicy: 'Cluster',
  }
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: {
      name: workload.name,
      namespace: workload.namespace,
      uid,
      creationTimestamp: textFromMilliseconds(workload.createdMs),
      labels: { app: workload.name, team: workload.team },
      managedFields: [
        managedBy(
          {
            manager: 'helm',
            operation: 'Update',
            apiVersion: 'v1',
            time: textFromMilliseconds(workload.createdMs),
          },
          fieldsOf({ spec }),
        ),
      ],
    },
    spec,
    status: { loadBalancer: {} },
  }
}

export interface NamedObject {
  readonly name: string
  readonly object: MadeObject
}

/** As many slices as the pods need; at least one. */
export function endpointSliceObjects(service: ServiceRecord, nextUid: () => string): NamedObject[] {
  const { workload } = service
  const pods = workload.pods.filter(pod => pod.health === 'running' || pod.health === 'crashing')
  const count = Math.max(1, Math.ceil(pods.length / endpointsPerSlice))
  while (service.sliceUids.length < count) service.sliceUids.push(nextUid())
  return Array.from({ length: count }, (_, i) => {
    const inSlice = pods.slice(i * endpointsPerSlice, (i + 1) * endpointsPerSlice)
    const name = `${workload.name}-${(service.sliceUids[i] ?? '').slice(0, 5)}`
    const object = {
      kind: 'EndpointSlice',
      apiVersion: 'discovery.k8s.io/v1',
      metadata: {
        name,
        generateName: `${workload.name}-`,
        namespace: workload.namespace,
        uid: service.sliceUids[i],
        generation: 1,
        creationTimestamp: textFromMilliseconds(workload.createdMs),
        labels: {
          app: workload.name,
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
          'kubernetes.io/service-name': workload.name,
        },
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'Service',
            name: workload.name,
            uid: service.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      addressType: 'IPv4',
      endpoints: inSlice.map(pod => ({
        addresses: [pod.address],
        conditions: {
          ready: pod.health === 'running',
          serving: pod.health === 'running',
          terminating: false,
        },
        targetRef: { kind: 'Pod', namespace: workload.namespace, name: pod.name, uid: pod.uid },
        nodeName: pod.node.name,
        zone: pod.node.zone,
      })),
      ports: [{ name: 'http', port: workload.port, protocol: 'TCP' }],
    }
    return { name, object }
  })
}
