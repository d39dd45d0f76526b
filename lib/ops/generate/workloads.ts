/** Deployments and their replica sets. */

import { fieldsOf, type JsonObject, managedBy } from './managed-fields.ts'
import { timeText } from './names.ts'
import { podLabels, templateSpec } from './pods.ts'
import type { Workload } from './topology.ts'

const controller = 'kube-controller-manager'

export function deploymentObject(workload: Workload, nowMs: number): JsonObject {
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
  const ready = workload.pods.filter(pod => pod.health === 'running').length
  const status = {
    observedGeneration: workload.revision,
    replicas: workload.pods.length,
    updatedReplicas: workload.pods.filter(pod => pod.template === workload.template).length,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: workload.pods.length - ready,
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
      creationTimestamp: timeText(workload.createdMs),
      labels: { app: name, team: workload.team },
      annotations,
      managedFields: [
        managedBy(
          {
            manager: 'helm',
            operation: 'Update',
            apiVersion: 'apps/v1',
            time: timeText(workload.createdMs),
          },
          fieldsOf({ spec }),
        ),
        managedBy(
          {
            manager: controller,
            operation: 'Update',
            apiVersion: 'apps/v1',
            time: timeText(nowMs),
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

export function replicaSetObject(workload: Workload, nowMs: number): JsonObject {
  const { name, namespace, template } = workload
  const { hash } = template
  const labels = { ...templateLabels(workload), 'pod-template-hash': hash }
  const spec = {
    replicas: workload.replicas,
    selector: { matchLabels: { app: name, 'pod-template-hash': hash } },
    template: { metadata: { labels }, spec: templateSpec(workload, workload.template) },
  }
  const own = workload.pods.filter(pod => pod.template === template)
  const ready = own.filter(pod => pod.health === 'running').length
  const status = {
    replicas: own.length,
    fullyLabeledReplicas: own.length,
    readyReplicas: ready,
    availableReplicas: ready,
    observedGeneration: 1,
  }
  const manager = {
    manager: controller,
    operation: 'Update',
    apiVersion: 'apps/v1',
    time: timeText(nowMs),
  } as const
  return {
    kind: 'ReplicaSet',
    apiVersion: 'apps/v1',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      uid: template.replicaSetUid,
      generation: 1,
      creationTimestamp: timeText(workload.createdMs),
      labels,
      annotations: {
        'deployment.kubernetes.io/desired-replicas': String(workload.replicas),
        'deployment.kubernetes.io/max-replicas': String(Math.ceil(workload.replicas * 1.25)),
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

function condition(type: string, reason: string, sinceMs: number, nowMs: number): JsonObject {
  return {
    type,
    status: 'True',
    lastUpdateTime: timeText(nowMs),
    lastTransitionTime: timeText(sinceMs),
    reason,
    message: `${reason}.`,
  }
}
