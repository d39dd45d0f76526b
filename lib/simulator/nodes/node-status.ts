/** The statuses of nodes, as kubelets report them and as the controller of nodes corrects them. */

import { healthyNodeConditions } from '../node-conditions.ts'
import type { StatusCondition } from '../runtime/objects.ts'

/** The conditions of a node that is well. */
export function healthyConditions(
  known: readonly StatusCondition[] = [],
  now: string,
): StatusCondition[] {
  return healthyNodeConditions.map(({ type, status, reason, message }) => {
    const before = known.find(one => one.type === type && one.status === status)
    const lastTransitionTime = before?.lastTransitionTime ?? now
    return { type, status, lastHeartbeatTime: now, lastTransitionTime, reason, message }
  })
}

/** The conditions of a node of which nobody knows how it is. */
export function unknownConditions(
  known: readonly StatusCondition[] = [],
  now: string,
): StatusCondition[] {
  return known.map(one => ({
    ...one,
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
    lastTransitionTime: one.status === 'Unknown' ? (one.lastTransitionTime ?? now) : now,
  }))
}

export interface NodeIdentity {
  readonly name: string
  readonly number: number
  readonly version: string
}

/** The whole status of a node, with sizes and addresses. */
export function nodeStatus(
  conditions: readonly StatusCondition[],
  { name, number, version: kubeletVersion }: NodeIdentity,
): object {
  const size = { cpu: '16', memory: '65841552Ki', pods: '110' }
  return {
    capacity: size,
    allocatable: size,
    conditions,
    addresses: [
      { type: 'InternalIP', address: `10.0.${String(number >> 8)}.${String(number & 0xff)}` },
      { type: 'Hostname', address: name },
    ],
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: '6.12.30',
      osImage: 'Debian GNU/Linux 13 (trixie)',
      containerRuntimeVersion: 'containerd://2.1.4',
      kubeletVersion,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
  }
}
