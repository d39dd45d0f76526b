/** Nodes, and the leases that they renew. */

import { microTimeText, textFromMilliseconds } from '@watchglass/go'
import { healthyNodeConditions } from '../node-conditions.ts'
import { fieldsOf, type MadeObject, managedBy } from './managed-fields.ts'
import type { NodeRecord } from './topology.ts'

export function nodeObject(node: NodeRecord, nowMs: number): MadeObject {
  const labels = {
    'beta.kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/hostname': node.name,
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': node.number % 4 === 0 ? 'large' : 'medium',
    'topology.kubernetes.io/region': 'region-1',
    'topology.kubernetes.io/zone': node.zone,
    ...(node.isControlPlane ? { 'node-role.kubernetes.io/control-plane': '' } : {}),
  }
  const podCidr = `100.${64 + ((node.number >> 8) & 0x3f)}.${node.number & 0xff}.0/24`
  const status = nodeStatus(node, nowMs)
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: {
      name: node.name,
      uid: node.uid,
      creationTimestamp: textFromMilliseconds(node.createdMs),
      labels,
      annotations: {
        'node.alpha.kubernetes.io/ttl': '0',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
      managedFields: [
        managedBy(
          {
            manager: 'kubelet',
            operation: 'Update',
            apiVersion: 'v1',
            time: textFromMilliseconds(node.createdMs),
          },
          fieldsOf({ metadata: { labels } }),
        ),
        managedBy(
          {
            manager: 'kubelet',
            operation: 'Update',
            apiVersion: 'v1',
            time: textFromMilliseconds(nowMs),
            subresource: 'status',
          },
          fieldsOf({ status }),
        ),
      ],
    },
    spec: {
      podCIDR: podCidr,
      podCIDRs: [podCidr],
      providerID: `example://${node.zone}/${node.uid}`,
      ...(node.isControlPlane
        ? { taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }] }
        : {}),
    },
    status,
  }
}

export function nodeLeaseObject(node: NodeRecord, nowMs: number): MadeObject {
  const spec = {
    holderIdentity: node.name,
    leaseDurationSeconds: 40,
    renewTime: microTimeText(nowMs),
  }
  return {
    kind: 'Lease',
    apiVersion: 'coordination.k8s.io/v1',
    metadata: {
      name: node.name,
      namespace: 'kube-node-lease',
      uid: node.leaseUid,
      creationTimestamp: textFromMilliseconds(node.createdMs),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid }],
      managedFields: [
        managedBy(
          {
            manager: 'kubelet',
            operation: 'Update',
            apiVersion: 'coordination.k8s.io/v1',
            time: textFromMilliseconds(nowMs),
          },
          fieldsOf({ spec }),
        ),
      ],
    },
    spec,
  }
}

function nodeStatus(node: NodeRecord, nowMs: number): MadeObject {
  const resources = {
    cpu: '16',
    'ephemeral-storage': '203070420Ki',
    memory: '65841552Ki',
    pods: '110',
  }
  return {
    capacity: resources,
    allocatable: { ...resources, cpu: '15890m', memory: '63380Mi' },
    conditions: healthyNodeConditions.map(({ type, status, reason, message }) => ({
      type,
      status,
      lastHeartbeatTime: textFromMilliseconds(nowMs),
      lastTransitionTime: textFromMilliseconds(node.createdMs),
      reason,
      message,
    })),
    addresses: [
      { type: 'InternalIP', address: node.address },
      { type: 'Hostname', address: node.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    nodeInfo: {
      machineID: node.uid.replaceAll('-', ''),
      systemUUID: node.uid,
      bootID: node.leaseUid,
      kernelVersion: '6.12.30',
      osImage: 'Debian GNU/Linux 13 (trixie)',
      containerRuntimeVersion: 'containerd://2.1.4',
      kubeletVersion: 'v1.36.2',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
    images: Array.from({ length: 12 }, (_, i) => ({
      names: [`registry.example.com/shop/app-${i}:v1.${node.number % 20}.0`],
      sizeBytes: 40_000_000 + i * 7_654_321,
    })),
  }
}
