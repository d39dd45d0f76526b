/** Nodes say that they are ready and renew their leases, as kubelets do it; one that has gone away
 *  is noticed and tainted after a while, as the controller of nodes' lifecycles does it. */

import type { Key } from '@watchglass/base'
import { microTimeText } from '@watchglass/go'
import type { NodeFact } from '../runtime/facts.ts'
import type { StatusCondition, Metadata, NodeObject } from '../runtime/objects.ts'
import { nothing, type ReconcileResult, type Write } from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { healthyConditions, nodeStatus, unknownConditions } from './node-status.ts'
import { isOfState, taintsOf } from './node-taints.ts'

/** The period of leases (nodeLeaseDurationSeconds is 40, and a quarter of it passes). */
export const renewMs = 10_000
const heartbeatMs = 5 * 60_000
/** Nobody notices before that a node is away, as in Kubernetes (node-monitor-grace-period). */
const graceMs = 40_000
export const leaseNamespace = 'kube-node-lease'

/** A node by the facts about it: most looks renew a lease only, for which it need not be read. */
export interface NodeWithFact {
  readonly metadata: Pick<Metadata, 'name' | 'uid'>
  readonly fact: NodeFact
}

export interface NodeParts {
  /** The node has been away since then; undefined: it is there. */
  readonly awaySinceMs: number | undefined
  /** Declared stages say how nodes are: here they only renew their leases. */
  readonly isLeft: boolean
  /** The node as it is stored, if `needsNode` says so. */
  readonly node: NodeObject | undefined
  readonly leaseKey: Key
  /** The version of Kubernetes that is answered as. */
  readonly version: string
}

type SeenNode = Seen<NodeWithFact> & NodeParts

/** Whether more is to be written than the lease. */
export function needsNode(
  fact: NodeFact,
  { awaySinceMs, isLeft }: Pick<NodeParts, 'awaySinceMs' | 'isLeft'>,
  nowMs: number,
): boolean {
  if (awaySinceMs !== undefined || !fact.isReady || fact.taints.some(isOfState)) return true
  return !isLeft && isReportDue(fact, nowMs)
}

/** A node that is well says so now and then. */
function isReportDue({ isReady, heartbeatMs: lastMs }: NodeFact, nowMs: number): boolean {
  return !isReady || nowMs - lastMs >= heartbeatMs
}

export function reconcileNode(seen: SeenNode): ReconcileResult {
  const { object, awaySinceMs, node, isLeft, nowMs, now } = seen
  const { fact } = object
  if (fact.isDeleting) return nothing
  if (awaySinceMs !== undefined) return { ...lose(seen, awaySinceMs), againMs: renewMs }
  const isReported = node !== undefined && !isLeft && isReportDue(fact, nowMs)
  const conditions = healthyConditions(node?.status?.conditions, now)
  const told = isReported ? { ...node, status: { conditions } } : node
  return {
    writes: [
      ...(isReported ? [report(seen, node, conditions)] : []),
      ...taintWrites(seen.key, told, now),
      renewal(seen),
    ],
    againMs: renewMs,
  }
}

function statusPatch(key: Key, status: object): Write {
  return { type: 'patch', key, patch: { status }, subresource: 'status' }
}

/** The status of a node that is well: the whole of it, if the node has never said how large it
 *  is. */
function report(
  { key, version }: SeenNode,
  { metadata, status }: NodeObject,
  conditions: readonly StatusCondition[],
): Write {
  if (status?.addresses !== undefined) return statusPatch(key, { conditions })
  return statusPatch(key, nodeStatus(conditions, { name: metadata.name, number: 1, version }))
}

function renewal({ object, leaseKey: key, nowMs }: SeenNode): Write {
  const { name, uid } = object.metadata
  const renewTime = microTimeText(nowMs)
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }]
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime }
  return {
    type: 'patch',
    key,
    patch: { spec: { renewTime } },
    orCreate: {
      group: 'coordination.k8s.io',
      resource: 'leases',
      namespace: leaseNamespace,
      object: { metadata: { name, namespace: leaseNamespace, ownerReferences }, spec },
    },
  }
}

/** A node that is away does not renew its lease, and after a while that is noticed. */
function lose({ key, object, node, now, nowMs }: SeenNode, sinceMs: number): ReconcileResult {
  const { fact } = object
  if (node === undefined) return nothing
  if (!fact.isReady || nowMs - sinceMs < graceMs) return { writes: taintWrites(key, node, now) }
  const status = { conditions: unknownConditions(node.status?.conditions, now) }
  const note = {
    reason: 'NodeNotReady',
    message: `Node ${fact.name} status is now: NodeNotReady`,
    source: { component: 'node-controller' },
  }
  return {
    writes: [
      { ...statusPatch(key, status), note },
      ...taintWrites(key, { ...node, status: { ...node.status, ...status } }, now),
    ],
  }
}

function taintWrites(key: Key, node: NodeObject | undefined, now: string): Write[] {
  const taints = node && taintsOf(node, now)
  if (taints === undefined) return []
  return [{ type: 'patch', key, patch: { spec: { taints: taints.length === 0 ? null : taints } } }]
}
