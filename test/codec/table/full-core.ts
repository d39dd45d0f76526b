/** The core group, each kind with all that its Table shows. */

import { type Row, createdAt, day, images, names, template } from './full-shared.ts'

export const core: readonly Row[] = [
  ['v1', 'ConfigMap', { data: { a: '', b: '' }, binaryData: { c: 'AA==' } }, ['x', 3, day]],
  [
    'v1',
    'ComponentStatus',
    { conditions: [{ type: 'Healthy', status: 'False', message: 'm', error: 'e' }] },
    ['x', 'Unhealthy', 'm', 'e'],
  ],
  [
    'v1',
    'Endpoints',
    {
      subsets: [
        { addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: [{ port: 80 }, { port: 81 }] },
        { addresses: [{ ip: '10.0.0.2' }] },
      ],
    },
    ['x', '10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 2 more...', day],
  ],
  [
    'v1',
    'Event',
    {
      involvedObject: { kind: 'Pod', name: 'p', fieldPath: 'spec.containers{app}' },
      type: 'Warning',
      reason: 'Unhealthy',
      message: ' \n probe failed\u00a0',
      source: { component: 'kubelet', host: 'n1' },
      reportingComponent: 'ignored',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T23:58:59Z',
      count: 7,
      series: { count: 9, lastObservedTime: '2026-01-01T23:59:58.500000Z' },
    },
    [
      '1s',
      'Warning',
      'Unhealthy',
      'pod/p',
      'spec.containers{app}',
      'kubelet, n1',
      'probe failed',
      day,
      9,
      'x',
    ],
  ],
  ['v1', 'LimitRange', {}, ['x', createdAt]],
  ['v1', 'Namespace', { status: { phase: 'Terminating' } }, ['x', 'Terminating', day]],
  [
    'v1',
    'Node',
    {
      metadata: {
        labels: {
          'node-role.kubernetes.io/worker': '',
          'node-role.kubernetes.io/gpu': 'x',
          'node-role.kubernetes.io/': '',
          'kubernetes.io/role': 'legacy',
        },
      },
      spec: { unschedulable: true },
      status: {
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'Ready', status: 'Unknown' },
        ],
        addresses: [
          { type: 'Hostname', address: 'h' },
          { type: 'InternalIP', address: '10.0.0.1' },
          { type: 'InternalIP', address: '10.0.0.2' },
          { type: 'ExternalIP', address: '203.0.113.1' },
        ],
        nodeInfo: {
          kubeletVersion: 'v1.36.0',
          osImage: 'Linux',
          kernelVersion: '6.8',
          architecture: 'arm64',
          containerRuntimeVersion: 'containerd://2',
        },
      },
    },
    [
      'x',
      'NotReady,SchedulingDisabled',
      'gpu,legacy,worker',
      day,
      'v1.36.0',
      '10.0.0.1',
      '203.0.113.1',
      'Linux',
      '6.8 (arm64)',
      'containerd://2',
    ],
  ],
  [
    'v1',
    'PersistentVolume',
    {
      metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } },
      spec: {
        capacity: { storage: '10Gi', other: '1' },
        accessModes: [
          'ReadWriteOncePod',
          'ReadWriteMany',
          'ReadOnlyMany',
          'ReadWriteOnce',
          'ReadWriteOnce',
        ],
        persistentVolumeReclaimPolicy: 'Delete',
        claimRef: { namespace: 'ns', name: 'c' },
        storageClassName: 'new',
        volumeAttributesClassName: 'gold',
        volumeMode: 'Block',
      },
      status: { phase: 'Failed', reason: 'R' },
    },
    ['x', '10Gi', 'RWO,ROX,RWX,RWOP', 'Delete', 'Failed', 'ns/c', 'old', 'gold', 'R', day, 'Block'],
  ],
  [
    'v1',
    'PersistentVolumeClaim',
    {
      metadata: { deletionTimestamp: createdAt },
      spec: {
        volumeName: 'v',
        storageClassName: 'fast',
        volumeAttributesClassName: 'gold',
        volumeMode: 'Block',
      },
      status: { phase: 'Bound', capacity: { storage: '5Gi' }, accessModes: ['ReadWriteOnce'] },
    },
    ['x', 'Terminating', 'v', '5Gi', 'RWO', 'fast', 'gold', day, 'Block'],
  ],
  [
    'v1',
    'Pod',
    {
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'a' }, { name: 'b' }],
        initContainers: [{ name: 's', restartPolicy: 'Always' }],
        readinessGates: [{ conditionType: 'g' }, { conditionType: 'h' }],
      },
      status: {
        phase: 'Running',
        podIP: '10.0.0.9',
        podIPs: [{ ip: '10.0.0.8' }],
        nominatedNodeName: 'n2',
        conditions: [
          { type: 'g', status: 'True' },
          { type: 'h', status: 'False' },
        ],
        initContainerStatuses: [
          {
            name: 's',
            ready: true,
            started: true,
            restartCount: 1,
            state: { running: {} },
            lastState: {},
          },
        ],
        containerStatuses: [
          {
            name: 'a',
            ready: true,
            restartCount: 2,
            state: { running: {} },
            lastState: { terminated: { exitCode: 1, finishedAt: '2026-01-01T21:00:00Z' } },
          },
          { name: 'b', ready: false, restartCount: 0, state: { running: {} }, lastState: {} },
        ],
      },
    },
    ['x', '2/3', 'Running', '3 (3h ago)', day, '10.0.0.9', 'n1', 'n2', '1/2'],
  ],
  ['v1', 'PodTemplate', { template }, ['x', names, images, 'a=1,b=2']],
  [
    'v1',
    'ReplicationController',
    {
      spec: { replicas: 3, selector: { b: '2', a: '1' }, template },
      status: { replicas: 2, readyReplicas: 1 },
    },
    ['x', 3, 2, 1, day, names, images, 'a=1,b=2'],
  ],
  [
    'v1',
    'ResourceQuota',
    {
      status: {
        hard: { pods: '10', 'limits.cpu': '4', cpu: '2', 'limits.memory': '1Gi', limits: '1' },
        used: { pods: '3', cpu: '1500m', 'limits.memory': '512Mi' },
      },
    },
    [
      'x',
      'cpu: 1500m/2, limits: 0/1, pods: 3/10',
      'limits.cpu: 0/4, limits.memory: 512Mi/1Gi',
      day,
    ],
  ],
  [
    'v1',
    'Secret',
    { type: 'kubernetes.io/tls', data: { a: '', b: '' } },
    ['x', 'kubernetes.io/tls', 2, day],
  ],
  [
    'v1',
    'Service',
    {
      spec: {
        type: 'LoadBalancer',
        clusterIP: '10.0.0.7',
        clusterIPs: ['10.0.0.7', 'fd00::7'],
        externalIPs: ['203.0.113.2'],
        ports: [
          { port: 80, nodePort: 30080, protocol: 'TCP' },
          { port: 53, protocol: 'UDP' },
        ],
        selector: { app: 'web' },
      },
      status: {
        loadBalancer: {
          ingress: [
            { hostname: 'lb' },
            { ip: '198.51.100.1', hostname: 'x' },
            { ip: '198.51.100.1' },
          ],
        },
      },
    },
    [
      'x',
      'LoadBalancer',
      '10.0.0.7',
      '198.51.100.1,lb,203.0.113.2',
      '80:30080/TCP,53/UDP',
      day,
      'app=web',
    ],
  ],
  ['v1', 'ServiceAccount', { secrets: [{ name: 's' }] }, ['x', day]],
]
