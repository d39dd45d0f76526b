/** Pods as a kubelet and the controllers leave them. */

import { textFromMilliseconds } from '@watchglass/go'
import { fieldsOf, type MadeObject, managedBy } from './managed-fields.ts'
import { markedTemplate, markedWorkload, markNumber, shapeName, variablesOf } from './marks.ts'
import { Stamp, type Variables } from '../stamps/stamp.ts'
import { shapeStamp } from './shape-stamps.ts'
import { storedBytes } from './stored.ts'
import type { PodHealth, PodRecord, GeneratedTemplate, Workload } from './topology.ts'

/** The stored bytes of a pod. */
export function storedPod(pod: PodRecord): Uint8Array {
  const shape = `${shapeName(pod.workload)} ${pod.health} ${pod.restarts > 0}`
  const stamp = shapeStamp(`core/v1.Pod ${shape}`, () => {
    const marked = markedPod(pod)
    const object = podObject({ ...marked, restarts: pod.restarts > 0 ? marked.restarts : 0 })
    return new Stamp(storedBytes(object), 'core/v1.Pod', podVariables(marked))
  })
  return stamp.fill(podVariables(pod))
}

function markedPod(pod: PodRecord): PodRecord {
  const workload = markedWorkload(pod.workload)
  return {
    ...pod,
    workload,
    template: markedTemplate,
    name: `${workload.name}-${markedTemplate.hash}-@!!@`,
    // The ids of its containers are made of it, without dashes.
    uid: '@20-20@',
    address: '@21@',
    node: { ...pod.node, name: '@22@', address: '@23@' },
    createdMs: markNumber(10) * 1_000,
    updatedMs: markNumber(11) * 1_000,
    restarts: markNumber(12),
  }
}

function podVariables(pod: PodRecord): Variables {
  const { workload, template, name, uid, address, node, createdMs, updatedMs, restarts } = pod
  const { texts, numbers } = variablesOf(workload, template)
  const suffix = name.slice(workload.name.length + template.hash.length + 2)
  return {
    texts: [...texts, suffix, uid, uid.replaceAll('-', ''), address, node.name, node.address],
    numbers: [
      ...numbers,
      ...[createdMs, createdMs + scheduledAfterMs].map(seconds),
      ...[updatedMs, updatedMs - restartedBeforeMs, updatedMs - endedBeforeMs].map(seconds),
      restarts,
    ],
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000)
}

/** When a crashed container had started and ended, before the last change of its status. */
const restartedBeforeMs = 60_000
const endedBeforeMs = 30_000

/** The time from a pod's creation until its sandbox is ready. */
const scheduledAfterMs = 2_000

/** The whole object of a pod. */
export function podObject(pod: PodRecord): MadeObject {
  const spec = templateSpec(pod.workload, pod.template)
  const isScheduled = pod.health !== 'pending'
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: podMetadata(pod, spec),
    spec: {
      ...spec,
      ...(isScheduled ? { nodeName: pod.node.name } : {}),
      ...admittedSpec,
    },
    status: podStatus(pod),
  }
}

/** The fields that admission and the scheduler add to every pod. */
const admittedSpec: MadeObject = {
  priority: 0,
  preemptionPolicy: 'PreemptLowerPriority',
  tolerations: ['not-ready', 'unreachable'].map(condition => ({
    key: `node.kubernetes.io/${condition}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })),
}

function podMetadata(pod: PodRecord, spec: MadeObject): MadeObject {
  const created = textFromMilliseconds(pod.createdMs)
  const metadata = commonMetadata(pod)
  const manager = { operation: 'Update', apiVersion: 'v1' } as const
  return {
    ...metadata,
    name: pod.name,
    namespace: pod.workload.namespace,
    uid: pod.uid,
    creationTimestamp: created,
    managedFields: [
      managedBy(
        { ...manager, manager: 'kube-controller-manager', time: created },
        fieldsOf({ metadata, spec }),
      ),
      managedBy(
        {
          ...manager,
          manager: 'kubelet',
          time: textFromMilliseconds(pod.updatedMs),
          subresource: 'status',
        },
        statusFields(pod),
      ),
    ],
  }
}

function commonMetadata({ workload, template: { hash, replicaSetUid } }: PodRecord): MadeObject {
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
function statusFields(pod: PodRecord): MadeObject {
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

/** The pod template of a workload, with the defaults that the server adds when it stores it. */
export function templateSpec(workload: Workload, { image }: GeneratedTemplate): MadeObject {
  const app = container(workload, {
    name: workload.name,
    image,
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
    volumes: [
      {
        name: 'config',
        configMap: { name: `${workload.name}-config`, defaultMode: 420, optional: true },
      },
    ],
    containers: workload.hasSidecar ? [app, sidecar] : [app],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    serviceAccountName: 'default',
    // The old name of the same field, which the server also writes into every template.
    serviceAccount: 'default',
    securityContext: { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 },
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  }
}

function container(workload: Workload, own: MadeObject): MadeObject {
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

function environment(workload: Workload): MadeObject[] {
  const fixed: MadeObject[] = [
    { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
  ]
  const own = Array.from({ length: workload.environmentSize }, (_, i) => ({
    name: `SETTING_${i}`,
    value: `http://${workload.name}-${i}:${workload.port}`,
  }))
  return [...fixed, ...own]
}

function probe(workload: Workload, path: string, periodSeconds: number): MadeObject {
  return {
    httpGet: { path, port: workload.port, scheme: 'HTTP' },
    timeoutSeconds: 1,
    periodSeconds,
    successThreshold: 1,
    failureThreshold: 3,
  }
}

function podStatus(pod: PodRecord): MadeObject {
  switch (pod.health) {
    case 'evicted':
      return {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'The node was low on resource: memory.',
        startTime: textFromMilliseconds(pod.createdMs),
      }
    case 'pending':
      return {
        phase: 'Pending',
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            lastProbeTime: null,
            lastTransitionTime: textFromMilliseconds(pod.createdMs),
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

function startedStatus(pod: PodRecord): MadeObject {
  const isReady = pod.health === 'running'
  const condition = (type: string, status: boolean, atMs: number): MadeObject => ({
    type,
    status: status ? 'True' : 'False',
    lastProbeTime: null,
    lastTransitionTime: textFromMilliseconds(atMs),
    ...(status
      ? {}
      : {
          reason: 'ContainersNotReady',
          message: `containers with unready status: [${pod.workload.name}]`,
        }),
  })
  const app = containerStatus(pod, { name: pod.workload.name, image: pod.template.image, isReady })
  const sidecar = containerStatus(pod, {
    name: 'proxy',
    image: 'registry.example.com/mesh/proxy:v2.8.1',
    isReady: true,
  })
  return {
    phase: 'Running',
    conditions: [
      condition('PodReadyToStartContainers', true, pod.createdMs + scheduledAfterMs),
      condition('Initialized', true, pod.createdMs),
      condition('Ready', isReady, pod.updatedMs),
      condition('ContainersReady', isReady, pod.updatedMs),
      condition('PodScheduled', true, pod.createdMs),
    ],
    hostIP: pod.node.address,
    hostIPs: [{ ip: pod.node.address }],
    podIP: pod.address,
    podIPs: [{ ip: pod.address }],
    startTime: textFromMilliseconds(pod.createdMs),
    containerStatuses: pod.workload.hasSidecar ? [app, sidecar] : [app],
    qosClass: 'Burstable',
  }
}

function containerStatus(
  pod: PodRecord,
  { name, image, isReady }: { name: string; image: string; isReady: boolean },
): MadeObject {
  const id = `containerd://${pod.uid.replaceAll('-', '')}${pod.template.replicaSetUid.replaceAll('-', '')}`
  const ended = {
    terminated: {
      exitCode: 1,
      reason: 'Error',
      startedAt: textFromMilliseconds(pod.updatedMs - restartedBeforeMs),
      finishedAt: textFromMilliseconds(pod.updatedMs - endedBeforeMs),
      containerID: id,
    },
  }
  return {
    name,
    state: isReady
      ? { running: { startedAt: textFromMilliseconds(pod.updatedMs) } }
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
    imageID: `${image.slice(0, image.lastIndexOf(':'))}@sha256:${pod.template.imageDigest}`,
    containerID: id,
    started: isReady,
  }
}

const startedFields: MadeObject = {
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

const statusFieldsByHealth: Readonly<Record<PodHealth, MadeObject>> = {
  running: startedFields,
  crashing: startedFields,
  pending: fieldsOf({ conditions: [], phase: '' }),
  evicted: fieldsOf({ message: '', phase: '', reason: '', startTime: '' }),
}
