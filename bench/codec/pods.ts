/** Pods as large as those of a real cluster: 2.5 KB as protobuf, 4 KB as JSON, most of it labels,
 *  volumes, conditions and managed fields. */

import { type Random, createRandom, randomInt, randomItem } from '../../lib/base/random.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'

/** The stored values of `count` pods. */
export function storedPods(count: number, seed: number): Uint8Array[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, (_, i) => {
    const value = protobufFromJson(Buffer.from(JSON.stringify(podOf(random, i))))
    if (value instanceof NotExact) throw new Error(value.reason)
    return value
  })
}

function podOf(random: Random, index: number): object {
  const application = randomItem(random, ['checkout', 'search', 'billing', 'frontend', 'gateway'])
  const hash = hex(random, 10)
  const name = `${application}-${hash}-${hex(random, 5)}`
  const uid = uidOf(random)
  const node = `node-${randomInt(random, 0, 499)}.zone-${randomItem(random, ['a', 'b', 'c'])}.internal`
  const time = (minutes: number): string =>
    `2026-11-${String(1 + (index % 20)).padStart(2, '0')}T08:${String(minutes).padStart(2, '0')}:07Z`
  const ip = `10.${randomInt(random, 0, 255)}.${randomInt(random, 0, 255)}.${randomInt(random, 1, 254)}`
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name,
      generateName: `${application}-${hash}-`,
      namespace: `team-${index % 50}`,
      uid,
      creationTimestamp: time(1),
      labels: {
        app: application,
        'app.kubernetes.io/instance': `${application}-production`,
        'app.kubernetes.io/part-of': 'shop',
        'pod-template-hash': hash,
      },
      annotations: {
        'cni.projectcalico.org/podIP': `${ip}/32`,
        'prometheus.io/scrape': 'true',
      },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${application}-${hash}`,
          uid: uidOf(random),
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
      managedFields: managedFields(time),
    },
    spec: podSpec(application, node, name),
    status: podStatus({ random, application, ip, time }),
  }
}

function podSpec(application: string, nodeName: string, name: string): object {
  return {
    volumes: [
      { name: 'config', configMap: { name: `${application}-config`, defaultMode: 420 } },
      { name: 'scratch', emptyDir: {} },
      {
        name: 'kube-api-access',
        projected: {
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
            {
              configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] },
            },
          ],
          defaultMode: 420,
        },
      },
    ],
    containers: [
      {
        name: application,
        image: `registry.example.com/shop/${application}:2026.11.${name.length}`,
        args: ['--listen=:8080', '--config=/etc/shop/config.yaml'],
        ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
        env: [
          {
            name: 'POD_NAME',
            valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } },
          },
          { name: 'LOG_LEVEL', value: 'info' },
          { name: 'UPSTREAM_URL', value: 'http://inventory.shop.svc.cluster.local:8080' },
        ],
        resources: { limits: { memory: '512Mi' }, requests: { cpu: '250m', memory: '256Mi' } },
        volumeMounts: [
          { name: 'config', readOnly: true, mountPath: '/etc/shop' },
          { name: 'scratch', mountPath: '/tmp' },
          {
            name: 'kube-api-access',
            readOnly: true,
            mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
          },
        ],
        readinessProbe: {
          httpGet: { path: '/healthz', port: 'http', scheme: 'HTTP' },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'IfNotPresent',
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    serviceAccountName: application,
    serviceAccount: application,
    nodeName,
    securityContext: { runAsNonRoot: true },
    schedulerName: 'default-scheduler',
    tolerations: ['not-ready', 'unreachable'].map(condition => ({
      key: `node.kubernetes.io/${condition}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 300,
    })),
    priority: 0,
    enableServiceLinks: true,
    preemptionPolicy: 'PreemptLowerPriority',
  }
}

interface StatusSource {
  readonly random: Random
  readonly application: string
  readonly ip: string
  readonly time: (minutes: number) => string
}

function podStatus({ random, application, ip, time }: StatusSource): object {
  return {
    phase: 'Running',
    conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type, i) => ({
      type,
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: time(i + 2),
    })),
    hostIP: '10.0.12.7',
    podIP: ip,
    podIPs: [{ ip }],
    startTime: time(2),
    containerStatuses: [
      {
        name: application,
        state: { running: { startedAt: time(3) } },
        lastState: {},
        ready: true,
        restartCount: randomInt(random, 0, 3),
        image: `registry.example.com/shop/${application}:2026.11`,
        imageID: `registry.example.com/shop/${application}@sha256:${hex(random, 64)}`,
        containerID: `containerd://${hex(random, 64)}`,
        started: true,
      },
    ],
    qosClass: 'Burstable',
  }
}

function managedFields(time: (minutes: number) => string): object[] {
  const of = (...names: string[]): object =>
    Object.fromEntries(names.map(name => [`f:${name}`, {}]))
  return [
    {
      manager: 'kube-controller-manager',
      operation: 'Update',
      apiVersion: 'v1',
      time: time(1),
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:metadata': {
          'f:generateName': {},
          'f:labels': { '.': {}, ...of('app', 'pod-template-hash') },
        },
        'f:spec': of('dnsPolicy', 'restartPolicy', 'schedulerName', 'volumes'),
      },
    },
    {
      manager: 'kubelet',
      operation: 'Update',
      apiVersion: 'v1',
      time: time(4),
      fieldsType: 'FieldsV1',
      fieldsV1: {
        'f:status': {
          'f:conditions': {
            'k:{"type":"Ready"}': { '.': {}, ...of('lastTransitionTime', 'status', 'type') },
          },
          ...of('containerStatuses', 'hostIP', 'phase', 'podIP', 'startTime'),
        },
      },
      subresource: 'status',
    },
  ]
}

function uidOf(random: Random): string {
  return [8, 4, 4, 4, 12].map(length => hex(random, length)).join('-')
}

function hex(random: Random, length: number): string {
  let text = ''
  while (text.length < length) text += randomInt(random, 0, 15).toString(16)
  return text
}
