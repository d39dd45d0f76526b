/** Workloads, networks and storage, each kind with all that its Table shows. */

import {
  type Row,
  createdAt,
  day,
  images,
  names,
  selected,
  selector,
  template,
} from './full-shared.ts'

export const workloads: readonly Row[] = [
  [
    'apps/v1',
    'ControllerRevision',
    {
      metadata: {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Other', name: 'o', uid: '', controller: false },
          { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: '', controller: true },
        ],
      },
      revision: 9,
    },
    ['x', 'statefulset.apps/db', 9n, day],
  ],
  [
    'apps/v1',
    'DaemonSet',
    {
      spec: { selector, template },
      status: {
        desiredNumberScheduled: 5,
        currentNumberScheduled: 4,
        numberReady: 3,
        updatedNumberScheduled: 2,
        numberAvailable: 1,
      },
    },
    ['x', 5, 4, 3, 2, 1, 'arch=amd64,os=linux', day, names, images, selected],
  ],
  [
    'apps/v1',
    'Deployment',
    {
      spec: { replicas: 4, selector, template },
      status: { readyReplicas: 3, updatedReplicas: 2, availableReplicas: 1 },
    },
    ['x', '3/4', 2, 1, day, names, images, selected],
  ],
  [
    'apps/v1',
    'ReplicaSet',
    { spec: { replicas: 0, selector, template }, status: { replicas: 2, readyReplicas: 1 } },
    ['x', 0, 2, 1, day, names, images, selected],
  ],
  [
    'apps/v1',
    'StatefulSet',
    { spec: { replicas: 3, template }, status: { readyReplicas: 2 } },
    ['x', '2/3', day, names, images],
  ],
  [
    'autoscaling/v2',
    'HorizontalPodAutoscaler',
    {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 9,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } },
          { type: 'External', external: { target: { averageValue: '5' } } },
          { type: 'Pods', pods: { target: { averageValue: '1k' } } },
        ],
      },
      status: {
        currentReplicas: 3,
        currentMetrics: [
          { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 55 } } },
          { type: 'External', external: { current: { averageValue: '4' } } },
        ],
      },
    },
    ['x', 'Deployment/web', 'cpu: 55%/80%, 4/5 (avg) + 1 more...', '2', 9, 3, day],
  ],
  [
    'batch/v1',
    'CronJob',
    {
      spec: {
        schedule: '* * * * *',
        timeZone: 'Europe/Oslo',
        suspend: true,
        jobTemplate: { spec: { selector, template } },
      },
      status: { active: [{}, {}], lastScheduleTime: '2026-01-01T20:59:00Z' },
    },
    ['x', '* * * * *', 'Europe/Oslo', 'True', 2, '3h1m', day, names, images, selected],
  ],
  [
    'batch/v1',
    'Job',
    {
      spec: { completions: 5, parallelism: 2, selector, template },
      status: {
        succeeded: 5,
        startTime: '2026-01-01T00:00:00Z',
        completionTime: '2026-01-01T00:02:05Z',
        conditions: [
          { type: 'Suspended', status: 'False' },
          { type: 'Complete', status: 'True' },
        ],
      },
    },
    ['x', 'Complete', '5/5', '2m5s', day, names, images, selected],
  ],
  [
    'policy/v1',
    'PodDisruptionBudget',
    { spec: { minAvailable: '50%', maxUnavailable: 0 }, status: { disruptionsAllowed: 2 } },
    ['x', '50%', '0', 2, day],
  ],
]

export const network: readonly Row[] = [
  [
    'discovery.k8s.io/v1',
    'EndpointSlice',
    {
      addressType: 'IPv4',
      ports: [{ port: 80 }, { name: 'any' }, { name: 'web', port: 8080 }, { port: 1 }],
      endpoints: [{ addresses: ['10.0.0.1', '10.0.0.2'] }, { addresses: ['10.0.0.3'] }],
    },
    ['x', 'IPv4', '80,any,8080 + 1 more...', '10.0.0.1,10.0.0.2,10.0.0.3', day],
  ],
  [
    'networking.k8s.io/v1',
    'IPAddress',
    { spec: { parentRef: { group: 'G.io', resource: 'services', namespace: 'ns', name: 'web' } } },
    ['x', 'services.g.io/ns/web', day],
  ],
  [
    'networking.k8s.io/v1',
    'Ingress',
    {
      spec: {
        ingressClassName: 'nginx',
        rules: [{ host: 'a' }, {}, { host: 'b' }, { host: 'c' }, {}],
        tls: [{}],
      },
      status: { loadBalancer: { ingress: [{ ip: '198.51.100.1' }] } },
    },
    ['x', 'nginx', 'a,b,c + 2 more...', '198.51.100.1', '80, 443', day],
  ],
  [
    'networking.k8s.io/v1',
    'IngressClass',
    {
      metadata: { annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
      spec: { controller: 'c', parameters: { apiGroup: 'g.io', kind: 'K', name: 'n' } },
    },
    ['x (default)', 'c', 'K.g.io/n', day],
  ],
  [
    'networking.k8s.io/v1',
    'NetworkPolicy',
    { spec: { podSelector: selector } },
    ['x', selected, day],
  ],
  [
    'networking.k8s.io/v1',
    'ServiceCIDR',
    { spec: { cidrs: ['10.0.0.0/24', 'fd00::/120'] } },
    ['x', '10.0.0.0/24,fd00::/120', day],
  ],
]

export const storage: readonly Row[] = [
  [
    'storage.k8s.io/v1',
    'CSIDriver',
    {
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        storageCapacity: true,
        tokenRequests: [{ audience: 'a' }, { audience: 'b' }],
        requiresRepublish: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    },
    ['x', false, true, true, 'a,b', true, 'Persistent,Ephemeral', day],
  ],
  [
    'storage.k8s.io/v1',
    'CSINode',
    { spec: { drivers: [{ name: 'a' }, { name: 'b' }] } },
    ['x', 2, day],
  ],
  ['storage.k8s.io/v1', 'CSIStorageCapacity', {}, ['x', createdAt]],
  [
    'storage.k8s.io/v1',
    'StorageClass',
    {
      metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'p',
      reclaimPolicy: 'Retain',
      volumeBindingMode: 'WaitForFirstConsumer',
      allowVolumeExpansion: true,
    },
    ['x (default)', 'p', 'Retain', 'WaitForFirstConsumer', true, day],
  ],
  [
    'storage.k8s.io/v1',
    'VolumeAttachment',
    {
      spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'v' } },
      status: { attached: true },
    },
    ['x', 'a', 'v', 'n', true, day],
  ],
  [
    'storage.k8s.io/v1',
    'VolumeAttributesClass',
    {
      metadata: {
        annotations: { 'volumeattributesclass.alpha.kubernetes.io/is-default-class': 'true' },
      },
      driverName: 'd',
    },
    ['x', 'd', day],
  ],
]
