/** Deployments and their replica sets. */

import { textFromMilliseconds } from '@watchglass/go'
import { fieldsOf, type MadeObject, managedBy } from './managed-fields.ts'
import { markedWorkload, markNumber, shapeName, surgeOf, variablesOf } from './marks.ts'
import { podLabels, templateSpec } from './pods.ts'
import { Stamp, type Variables } from '../stamps/stamp.ts'
import { shapeStamp } from './shape-stamps.ts'
import { storedBytes } from './stored.ts'
import type { PodRecord, Workload } from './topology.ts'

const controller = 'kube-controller-manager'

/** The stored bytes of a deployment. */
export function storedDeployment(workload: Workload, nowMs: number): Uint8Array {
  const stamp = stampOf(workload, 'apps/v1.Deployment', deploymentObject)
  const counts = countsOf(workload, workload.pods)
  return stamp.fill(countedVariables(workload, counts, nowMs))
}

/** The stored bytes of the newest replica set of a deployment. */
export function storedReplicaSet(workload: Workload, nowMs: number): Uint8Array {
  const stamp = stampOf(workload, 'apps/v1.ReplicaSet', replicaSetObject)
  const own = workload.pods.filter(pod => pod.template === workload.template)
  return stamp.fill(countedVariables(workload, countsOf(workload, own), nowMs))
}

function stampOf(
  workload: Workload,
  type: string,
  makeObject: (workload: Workload, counts: PodCounts, nowMs: number) => MadeObject,
): Stamp {
  return shapeStamp(`${type} ${shapeName(workload)}`, () => {
    const marked = markedWorkload(workload)
    const object = makeObject(marked, countMarks, nowMark)
    return new Stamp(storedBytes(object), type, countedVariables(marked, countMarks, nowMark))
  })
}

/** The numbers of a workload's pods, by their state. */
export interface PodCounts {
  readonly all: number
  readonly updated: number
  readonly ready: number
  readonly unready: number
}

export function countsOf({ template }: Workload, pods: readonly PodRecord[]): PodCounts {
  const ready = pods.filter(({ health }) => health === 'running').length
  const updated = pods.filter(pod => pod.template === template).length
  return { all: pods.length, updated, ready, unready: pods.length - ready }
}

const countMarks: PodCounts = {
  all: markNumber(3),
  updated: markNumber(4),
  ready: markNumber(5),
  unready: markNumber(6),
}
const nowMark = markNumber(7) * 1_000

function countedVariables(workload: Workload, counts: PodCounts, nowMs: number): Variables {
  const { texts, numbers } = variablesOf(workload, workload.template)
  const { all, updated, ready, unready } = counts
  const now = Math.floor(nowMs / 1_000)
  return { texts, numbers: [...numbers, all, updated, ready, unready, now] }
}

export function deploymentObject(workload: Workload, counts: PodCounts, nowMs: number): MadeObject {
  const { name, namespace } = workload
  const spec = {
    replicas: workload.replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: templateLabels(workload) },
      spec: templateSpec(workload, workload.template),
    },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  }
  const status = {
    observedGeneration: workload.revision,
    replicas: counts.all,
    updatedReplicas: counts.updated,
    readyReplicas: counts.ready,
    availableReplicas: counts.ready,
    unavailableReplicas: counts.unready,
    conditions: [
      condition('Available', 'MinimumReplicasAvailable', workload.createdMs, nowMs),
      condition('Progressing', 'NewReplicaSetAvailable', workload.createdMs, nowMs),
    ],
  }
  const annotations = { 'deployment.kubernetes.io/revision': String(workload.revision) }
  return {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: {
      name,
      namespace,
      uid: workload.uid,
      generation: workload.revision,
      creationTimestamp: textFromMilliseconds(workload.createdMs),
      labels: { app: name, team: workload.team },
      annotations,
      managedFields: [
        managedBy(
          {
            manager: 'helm',
            operation: 'Update',
            apiVersion: 'apps/v1',
            time: textFromMilliseconds(workload.createdMs),
          },
          fieldsOf({ spec }),
        ),
        managedBy(
          {
            manager: controller,
            operation: 'Update',
            apiVersion: 'apps/v1',
            time: textFromMilliseconds(nowMs),
            subresource: 'status',
          },
          fieldsOf({ metadata: { annotations }, status }),
        ),
      ],
    },
    spec,
    status,
  }
}

export function replicaSetObject(workload: Workload, counts: PodCounts, nowMs: number): MadeObject {
  const { name, namespace, template } = workload
  const { hash } = template
  const labels = { ...templateLabels(workload), 'pod-template-hash': hash }
  const spec = {
    replicas: workload.replicas,
    selector: { matchLabels: { app: name, 'pod-template-hash': hash } },
    template: { metadata: { labels }, spec: templateSpec(workload, workload.template) },
  }
  const status = {
    replicas: counts.all,
    fullyLabeledReplicas: counts.all,
    readyReplicas: counts.ready,
    availableReplicas: counts.ready,
    observedGeneration: 1,
  }
  const manager = {
    manager: controller,
    operation: 'Update',
    apiVersion: 'apps/v1',
    time: textFromMilliseconds(nowMs),
  } as const
  return {
    kind: 'ReplicaSet',
    apiVersion: 'apps/v1',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      uid: template.replicaSetUid,
      generation: 1,
      creationTimestamp: textFromMilliseconds(workload.createdMs),
      labels,
      annotations: {
        'deployment.kubernetes.io/desired-replicas': String(workload.replicas),
        'deployment.kubernetes.io/max-replicas': String(surgeOf(workload.replicas)),
        'deployment.kubernetes.io/revision': String(workload.revision),
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          name,
          uid: workload.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: [
        managedBy(manager, fieldsOf({ metadata: { labels }, spec })),
        managedBy({ ...manager, subresource: 'status' }, fieldsOf({ status })),
      ],
    },
    spec,
    status,
  }
}

function templateLabels(workload: Workload): Record<string, string> {
  const { 'pod-template-hash': _, ...labels } = podLabels(workload, workload.template.hash)
  return labels
}

function condition(type: string, reason: string, sinceMs: number, nowMs: number): MadeObject {
  return {
    type,
    status: 'True',
    lastUpdateTime: textFromMilliseconds(nowMs),
    lastTransitionTime: textFromMilliseconds(sinceMs),
    reason,
    message: `${reason}.`,
  }
}
