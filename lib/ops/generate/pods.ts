/** Pods as a kubelet and the controllers leave them. */

import { fieldsOf, type JsonObject, managedBy } from './managed-fields.ts'
import { timeText } from './names.ts'
import type { PodHealth, PodRecord, Workload } from './topology.ts'

/** The whole object of a pod. */
export function podObject(pod: PodRecord): JsonObject {
  const template = templateOf(pod.workload)
  const isScheduled = pod.health !== 'pending'
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: podMetadata(pod, template),
    spec: {
      ...template.spec,
      ...(isScheduled ? { nodeName: pod.node.name } : {}),
      ...admittedSpec,
    },
    status: podStatus(pod),
  }
}

/** What every pod of a template has in common. Making it anew for each pod took two thirds of the time of generating pods. */
interface Template {
  readonly hash: string
  readonly spec: JsonObject
  readonly managedFields: JsonObject
}

const templates = new WeakMap<Workload, Template>()

function templateOf(workload: Workload): Template {
  const known = templates.get(workload)
  if (known !== undefined && known.hash === workload.hash) return known
  const spec = templateSpec(workload)
  const { generateName, ownerReferences, ...metadata } = commonMetadata(
    workload.pods[0] ?? workload,
    workload,
  )
  const managedFields = fieldsOf({ metadata: { generateName, ...metadata, ownerReferences }, spec })
  const template = { hash: workload.hash, spec, managedFields }
  templates.set(workload, template)
  return template
}

/** What admission and the scheduler add to every pod. */
const admittedSpec: JsonObject = {
  serviceAccount: 'default',
  priority: 0,
  preemptionPolicy: 'PreemptLowerPriority',
  tolerations: ['not-ready', 'unreachable'].map(condition => ({
    key: `node.kubernetes.io/${condition}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })),
}

function podMetadata(pod: PodRecord, template: Template): JsonObject {
  const created = timeText(pod.createdMs)
  const manager = { operation: 'Update', apiVersion: 'v1' } as const
  return {
    ...commonMetadata(pod, pod.workload),
    name: pod.name,
    namespace: pod.workload.namespace,
    uid: pod.uid,
    creationTimestamp: created,
    managedFields: [
      managedBy(
        { ...manager, manager: 'kube-controller-manager', time: created },
        template.managedFields,
      ),
      managedBy(
        { ...manager, manager: 'kubelet', time: timeText(pod.updatedMs), subresource: 'status' },
        statusFields(pod),
      ),
    ],
  }
}

function commonMetadata(
  { hash, replicaSetUid }: Pick<PodRecord, 'hash' | 'replicaSetUid'>,
  workload: Workload,
): JsonObject {
  const owner = { kind: 'ReplicaSet', name: `${workload.name}-${hash}`, uid: replicaSetUid }
  return {
    generateName: `${workload.name}-${hash}-`,
    labels: podLabels(workload, hash),
    annotations: { 'prometheus.io/port': String(workload.port), 'prometheus.io/scrape': 'true' },
    ownerReferences: [
      { apiVersion: 'apps/v1', ...owner, controller: true, blockOwnerDeletion: true },
    ],
  }
}

/** The fields that a kubelet sets; only the pod's address differs between pods. */
function statusFields(pod: PodRecord): JsonObject {
  const fixed = statusFieldsByHealth[pod.health]
  if (pod.health === 'evicted' || pod.health === 'pending') return { 'f:status': fixed }
  return {
    'f:status': {
      ...fixed,
      'f:podIPs': { '.': {}, [`k:{"ip":"${pod.address}"}`]: { '.': {}, 'f:ip': {} } },
    },
  }
}

export function podLabels(workload: Workload, hash: string): Record<string, string> {
  return {
    app: workload.name,
    'app.kubernetes.io/name': workload.name,
    'pod-template-hash': hash,
    team: workload.team,
  }
}

/** What the pod template of a workload says, with the defaults that the server adds when it stores it. */
export function templateSpec(workload: Workload): JsonObject {
  const app = container(workload, {
    name: workload.name,
    image: workload.image,
    ports: [{ name: 'http', containerPort: workload.port, protocol: 'TCP' }],
    env: environment(workload),
    readinessProbe: probe(workload, '/readyz', 5),
    volumeMounts: [{ name: 'config', mountPath: '/etc/app' }],
  })
  const sidecar = container(workload, {
    name: 'proxy',
    image: 'registry.example.com/mesh/proxy:v2.8.1',
  })
  return {
    volumes: [{ name: 'config', configMap: { name: `${workload.name}-config`, defaultMode: 420 } }],
    containers: workload.hasSidecar ? [app, sidecar] : [app],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    serviceAccountName: 'default',
    securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 },
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  }
}

function container(workload: Workload, own: JsonObject): JsonObject {
  const cpu = 50 * (1 + (workload.number % 8))
  return {
    ...own,
    resources: {
      limits: { cpu: `${cpu * 2}m`, memory: `${cpu * 4}Mi` },
      requests: { cpu: `${cpu}m`, memory: `${cpu * 2}Mi` },
    },
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
  }
}

function environment(workload: Workload): JsonObject[] {
  const fixed: JsonObject[] = [
    { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
  ]
  const own = Array.from({ length: workload.environmentSize }, (_, i) => ({
    name: `SETTING_${i}`,
    value: `http://${workload.name}-${i}:${workload.port}`,
  }))
  return [...fixed, ...own]
}

function probe(workload: Workload, path: string, periodSeconds: number): JsonObject {
  return {
    httpGet: { path, port: workload.port, scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds,
    successThreshold: 1,
    failureThreshold: 3,
  }
}

function podStatus(pod: PodRecord): JsonObject {
  switch (pod.health) {
    case 'evicted':
      return {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'The node was low on resource: memory.',
        startTime: timeText(pod.createdMs),
      }
    case 'pending':
      return {
        phase: 'Pending',
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            lastProbeTime: null,
            lastTransitionTime: timeText(pod.createdMs),
            reason: 'Unschedulable',
            message: '0/3 nodes are available: 3 Insufficient memory.',
          },
        ],
        qosClass: 'Burstable',
      }
    case 'running':
    case 'crashing':
      return startedStatus(pod)
  }
}

function startedStatus(pod: PodRecord): JsonObject {
  const isReady = pod.health === 'running'
  const condition = (type: string, status: boolean, atMs: number): JsonObject => ({
    type,
    status: status ? 'True' : 'False',
    lastProbeTime: null,
    lastTransitionTime: timeText(atMs),
    ...(status
      ? {}
      : {
          reason: 'ContainersNotReady',
          message: `containers with unready status: [${pod.workload.name}]`,
        }),
  })
  const app = containerStatus(pod, { name: pod.workload.name, image: pod.workload.image, isReady })
  const sidecar = containerStatus(pod, {
    name: 'proxy',
    image: 'registry.example.com/mesh/proxy:v2.8.1',
    isReady: true,
  })
  return {
    phase: 'Running',
    conditions: [
      condition('PodReadyToStartContainers', true, pod.createdMs + 2_000),
      condition('Initialized', true, pod.createdMs),
      condition('Ready', isReady, pod.updatedMs),
      condition('ContainersReady', isReady, pod.updatedMs),
      condition('PodScheduled', true, pod.createdMs),
    ],
    hostIP: pod.node.address,
    hostIPs: [{ ip: pod.node.address }],
    podIP: pod.address,
    podIPs: [{ ip: pod.address }],
    startTime: timeText(pod.createdMs),
    containerStatuses: pod.workload.hasSidecar ? [app, sidecar] : [app],
    qosClass: 'Burstable',
  }
}

function containerStatus(
  pod: PodRecord,
  { name, image, isReady }: { name: string; image: string; isReady: boolean },
): JsonObject {
  const id = `containerd://${pod.uid.replaceAll('-', '')}${pod.replicaSetUid.replaceAll('-', '')}`
  const ended = {
    terminated: {
      exitCode: 1,
      reason: 'Error',
      startedAt: timeText(pod.updatedMs - 60_000),
      finishedAt: timeText(pod.updatedMs - 30_000),
      containerID: id,
    },
  }
  return {
    name,
    state: isReady
      ? { running: { startedAt: timeText(pod.updatedMs) } }
      : {
          waiting: {
            reason: 'CrashLoopBackOff',
            message: `back-off 5m0s restarting failed container=${name} pod=${pod.name}_${pod.workload.namespace}(${pod.uid})`,
          },
        },
    lastState: pod.restarts > 0 ? ended : {},
    ready: isReady,
    restartCount: pod.restarts,
    image,
    imageID: `${image.slice(0, image.lastIndexOf(':'))}@sha256:${pod.workload.imageDigest}`,
    containerID: id,
    started: isReady,
  }
}

const startedFields: JsonObject = {
  'f:conditions': Object.fromEntries(
    ['Initialized', 'Ready', 'ContainersReady'].map(type => [
      `k:{"type":"${type}"}`,
      { '.': {}, 'f:lastProbeTime': {}, 'f:lastTransitionTime': {}, 'f:status': {}, 'f:type': {} },
    ]),
  ),
  ...fieldsOf({
    containerStatuses: [],
    hostIP: '',
    hostIPs: [],
    phase: '',
    podIP: '',
    startTime: '',
  }),
}

const statusFieldsByHealth: Readonly<Record<PodHealth, JsonObject>> = {
  running: startedFields,
  crashing: startedFields,
  pending: fieldsOf({ conditions: [], phase: '' }),
  evicted: fieldsOf({ message: '', phase: '', reason: '', startTime: '' }),
}
