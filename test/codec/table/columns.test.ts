/** The rules of columns, each by itself: what an object has, and which text its cell gets. The
 *  texts follow pkg/printers/internalversion/printers.go; recordings have most of them, too. */

import t from 'tap'
import { cellsOf, created } from './cells.ts'

type Row = readonly [object: object, cell: unknown]

interface Column {
  readonly kind: string
  readonly index: number
  readonly rows: readonly Row[]
}

const hourAgo = '2026-01-01T23:00:00Z'
const minuteAgo = '2026-01-01T23:59:00Z'
const ready = { type: 'Ready', status: 'True' }
const deleted = { metadata: { name: 'x', deletionTimestamp: created } }
const condition = (type: string, status = 'True'): object => ({ type, status })

const columns: Readonly<Record<string, Column>> = {
  'STATUS of a job': {
    kind: 'batch/v1 Job',
    index: 1,
    rows: [
      [{}, 'Running'],
      [{ status: { conditions: [condition('Complete'), condition('Failed')] } }, 'Complete'],
      [{ status: { conditions: [condition('Failed')] } }, 'Failed'],
      [{ status: { conditions: [condition('Failed', 'False')] } }, 'Running'],
      [{ ...deleted, status: { conditions: [condition('Suspended')] } }, 'Terminating'],
      [
        { status: { conditions: [condition('Suspended'), condition('FailureTarget')] } },
        'Suspended',
      ],
      [{ status: { conditions: [condition('FailureTarget')] } }, 'FailureTarget'],
      [{ status: { conditions: [condition('SuccessCriteriaMet')] } }, 'SuccessCriteriaMet'],
    ],
  },
  'COMPLETIONS of a job': {
    kind: 'batch/v1 Job',
    index: 2,
    rows: [
      [{ spec: { completions: 3 }, status: { succeeded: 2 } }, '2/3'],
      [{ spec: { parallelism: 2 }, status: { succeeded: 1 } }, '1/1 of 2'],
      [{ spec: { parallelism: 1 } }, '0/1'],
    ],
  },
  'DURATION of a job': {
    kind: 'batch/v1 Job',
    index: 3,
    rows: [
      [{}, ''],
      [{ status: { startTime: hourAgo } }, '60m'],
      [{ status: { startTime: hourAgo, completionTime: minuteAgo } }, '59m'],
    ],
  },
  'STATUS of a node': {
    kind: 'v1 Node',
    index: 1,
    rows: [
      [{ status: { conditions: [ready] } }, 'Ready'],
      [{ status: { conditions: [condition('Ready', 'Unknown')] } }, 'NotReady'],
      [{ status: { conditions: [condition('Other')] } }, 'Unknown'],
      [
        { spec: { unschedulable: true }, status: { conditions: [ready] } },
        'Ready,SchedulingDisabled',
      ],
    ],
  },
  'ROLES of a node': {
    kind: 'v1 Node',
    index: 2,
    rows: [
      [
        {
          metadata: {
            labels: { 'node-role.kubernetes.io/b': '', 'node-role.kubernetes.io/a': 'x' },
          },
        },
        'a,b',
      ],
      [{ metadata: { labels: { 'kubernetes.io/role': 'c' } } }, 'c'],
      [
        { metadata: { labels: { 'kubernetes.io/role': '', 'node-role.kubernetes.io/': 'x' } } },
        '<none>',
      ],
    ],
  },
  'EXTERNAL-IP of a node': {
    kind: 'v1 Node',
    index: 6,
    rows: [
      [
        {
          status: {
            addresses: [
              { type: 'InternalIP', address: 'a' },
              { type: 'ExternalIP', address: 'b' },
            ],
          },
        },
        'b',
      ],
      [{ status: { addresses: [{ type: 'InternalIP', address: 'a' }] } }, '<none>'],
    ],
  },
  'EXTERNAL-IP of a service': {
    kind: 'v1 Service',
    index: 3,
    rows: [
      [{ spec: { type: 'ClusterIP', externalIPs: ['a', 'b'] } }, 'a,b'],
      [{ spec: { type: 'NodePort' } }, '<none>'],
      [{ spec: { type: 'LoadBalancer' } }, '<pending>'],
      [{ spec: { type: 'LoadBalancer', externalIPs: ['c'] } }, 'c'],
      [
        {
          spec: { type: 'LoadBalancer', externalIPs: ['c'] },
          status: { loadBalancer: { ingress: [{ ip: 'b' }, { hostname: 'a' }, { ip: 'b' }] } },
        },
        'a,b,c',
      ],
      [{ spec: { type: 'ExternalName', externalName: 'e' } }, 'e'],
    ],
  },
  'PORTS of a service': {
    kind: 'v1 Service',
    index: 4,
    rows: [
      [
        {
          spec: {
            ports: [
              { port: 80, protocol: 'TCP' },
              { port: 53, nodePort: 30053, protocol: 'UDP' },
            ],
          },
        },
        '80/TCP,53:30053/UDP',
      ],
      [{ spec: {} }, '<none>'],
    ],
  },
  'ENDPOINTS of endpoints': {
    kind: 'v1 Endpoints',
    index: 1,
    rows: [
      [{ subsets: [{ addresses: [{ ip: 'a' }], ports: [{ port: 1 }, { port: 2 }] }] }, 'a:1,a:2'],
      [{ subsets: [{ addresses: [{ ip: 'fd00::1' }], ports: [{ port: 1 }] }] }, '[fd00::1]:1'],
      [{ subsets: [{ addresses: [{ ip: 'a' }, { ip: 'b' }] }] }, 'a,b'],
      [
        { subsets: [{ addresses: ['a', 'b', 'c', 'd', 'e'].map(ip => ({ ip })) }] },
        'a,b,c + 2 more...',
      ],
      [{ subsets: [{ addresses: ['a', 'b', 'c'].map(ip => ({ ip })) }] }, 'a,b,c'],
    ],
  },
  'PORTS of an endpoint slice': {
    kind: 'discovery.k8s.io/v1 EndpointSlice',
    index: 2,
    rows: [
      [{ ports: [{ port: 80 }, { name: 'a' }, {}] }, '80,a,'],
      [{ ports: [] }, '<unset>'],
    ],
  },
  'HOSTS of an ingress': {
    kind: 'networking.k8s.io/v1 Ingress',
    index: 2,
    rows: [
      [{ spec: { rules: [{ host: 'a' }, {}, { host: 'b' }] } }, 'a,b'],
      [{ spec: { rules: ['a', 'b', 'c', 'd', 'e'].map(host => ({ host })) } }, 'a,b,c + 2 more...'],
      [{ spec: { rules: [{}] } }, '*'],
    ],
  },
  'PORTS of an ingress': {
    kind: 'networking.k8s.io/v1 Ingress',
    index: 4,
    rows: [
      [{ spec: { tls: [{}] } }, '80, 443'],
      [{ spec: {} }, '80'],
    ],
  },
  'NAME of an ingress class': {
    kind: 'networking.k8s.io/v1 IngressClass',
    index: 0,
    rows: [
      [
        {
          metadata: {
            name: 'x',
            annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' },
          },
        },
        'x (default)',
      ],
      [
        {
          metadata: {
            name: 'x',
            annotations: { 'ingressclass.kubernetes.io/is-default-class': 'false' },
          },
        },
        'x',
      ],
    ],
  },
  'PARAMETERS of an ingress class': {
    kind: 'networking.k8s.io/v1 IngressClass',
    index: 2,
    rows: [
      [{ spec: { parameters: { apiGroup: 'g', kind: 'K', name: 'n' } } }, 'K.g/n'],
      [{ spec: { parameters: { kind: 'K', name: 'n' } } }, 'K/n'],
    ],
  },
  'PARENTREF of an IP address': {
    kind: 'networking.k8s.io/v1 IPAddress',
    index: 1,
    rows: [
      [
        { spec: { parentRef: { resource: 'Services', namespace: 'n', name: 's' } } },
        'services/n/s',
      ],
      [{ spec: { parentRef: { group: 'g', resource: 'r', name: 's' } } }, 'r.g/s'],
    ],
  },
  'STATUS of a volume': {
    kind: 'v1 PersistentVolume',
    index: 4,
    rows: [
      [{ status: { phase: 'Bound' } }, 'Bound'],
      [{ ...deleted, status: { phase: 'Bound' } }, 'Terminating'],
    ],
  },
  'ACCESS MODES of a volume': {
    kind: 'v1 PersistentVolume',
    index: 2,
    rows: [
      [
        {
          spec: {
            accessModes: ['ReadWriteOncePod', 'ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOnce'],
          },
        },
        'RWO,ROX,RWX,RWOP',
      ],
    ],
  },
  'STORAGECLASS of a volume': {
    kind: 'v1 PersistentVolume',
    index: 6,
    rows: [
      [{ spec: { storageClassName: 'a' } }, 'a'],
      [
        {
          metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'b' } },
          spec: { storageClassName: 'a' },
        },
        'b',
      ],
    ],
  },
  'CAPACITY of a claim': {
    kind: 'v1 PersistentVolumeClaim',
    index: 3,
    rows: [
      [{ spec: { volumeName: 'v' }, status: { capacity: { storage: '1Gi' } } }, '1Gi'],
      [{ status: { capacity: { storage: '1Gi' } } }, ''],
    ],
  },
  'NAME of a storage class': {
    kind: 'storage.k8s.io/v1 StorageClass',
    index: 0,
    rows: [
      [
        {
          metadata: {
            name: 'x',
            annotations: { 'storageclass.beta.kubernetes.io/is-default-class': 'true' },
          },
        },
        'x (default)',
      ],
      [
        {
          metadata: {
            name: 'x',
            annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
          },
        },
        'x (default)',
      ],
    ],
  },
  'TOKENREQUESTS of a CSI driver': {
    kind: 'storage.k8s.io/v1 CSIDriver',
    index: 4,
    rows: [
      [{ spec: { tokenRequests: [{ audience: 'a' }, { audience: 'b' }] } }, 'a,b'],
      [{ spec: {} }, '<unset>'],
    ],
  },
  'READY of a deployment': {
    kind: 'apps/v1 Deployment',
    index: 1,
    rows: [
      [{ spec: { replicas: 3 }, status: { readyReplicas: 2 } }, '2/3'],
      [{ spec: { replicas: 0 } }, '0/0'],
    ],
  },
  'SELECTOR of a replication controller': {
    kind: 'v1 ReplicationController',
    index: 7,
    rows: [
      [{ spec: { selector: { a: 'b' }, template: { metadata: { labels: { c: 'd' } } } } }, 'a=b'],
      [{ spec: { template: { metadata: { labels: { c: 'd' } } } } }, 'c=d'],
    ],
  },
  'CONTROLLER of a controller revision': {
    kind: 'apps/v1 ControllerRevision',
    index: 1,
    rows: [
      [
        {
          metadata: {
            ownerReferences: [
              { apiVersion: 'v1', kind: 'A', name: 'a' },
              { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', controller: true },
            ],
          },
        },
        'daemonset.apps/d',
      ],
      [
        {
          metadata: {
            ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', controller: true }],
          },
        },
        'pod/p',
      ],
      [
        {
          metadata: {
            ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', controller: false }],
          },
        },
        '<none>',
      ],
    ],
  },
  'LAST SCHEDULE of a cron job': {
    kind: 'batch/v1 CronJob',
    index: 5,
    rows: [
      [{ status: { lastScheduleTime: hourAgo } }, '60m'],
      [{}, '<none>'],
    ],
  },
  'SUSPEND of a cron job': {
    kind: 'batch/v1 CronJob',
    index: 3,
    rows: [
      [{ spec: { suspend: true } }, 'True'],
      [{ spec: { suspend: false } }, 'False'],
      [{}, 'False'],
    ],
  },
  'COUNT of an event': {
    kind: 'v1 Event',
    index: 8,
    rows: [
      [{ count: 4 }, 4],
      [{ count: 4, series: { count: 7 } }, 7],
      [{}, 1],
    ],
  },
  'LAST SEEN of an event': {
    kind: 'v1 Event',
    index: 0,
    rows: [
      [{ firstTimestamp: hourAgo, lastTimestamp: minuteAgo }, '60s'],
      [{ firstTimestamp: hourAgo }, '60m'],
      [{ eventTime: '2026-01-01T23:00:00.000000Z' }, '60m'],
      [
        {
          lastTimestamp: hourAgo,
          series: { count: 2, lastObservedTime: '2026-01-01T23:59:00.000000Z' },
        },
        '60s',
      ],
    ],
  },
  'SOURCE of an event': {
    kind: 'v1 Event',
    index: 5,
    rows: [
      [{ source: { component: 'c', host: 'h' }, reportingComponent: 'r' }, 'c, h'],
      [{ reportingComponent: 'r', reportingInstance: 'i' }, 'r, i'],
      [{ source: { component: 'c' } }, 'c'],
    ],
  },
  'OBJECT of an event': {
    kind: 'v1 Event',
    index: 3,
    rows: [
      [{ involvedObject: { kind: 'Pod', name: 'p' } }, 'pod/p'],
      [{ involvedObject: { kind: 'Pod' } }, 'pod'],
    ],
  },
  'MESSAGE of an event': {
    kind: 'v1 Event',
    index: 6,
    rows: [[{ message: ' \n\u00a0a b\t ' }, 'a b']],
  },
  'STATUS of a component': {
    kind: 'v1 ComponentStatus',
    index: 1,
    rows: [
      [{ conditions: [condition('Other')] }, 'Unknown'],
      [{ conditions: [condition('Healthy')] }, 'Healthy'],
      [{ conditions: [condition('Healthy', 'False')] }, 'Unhealthy'],
    ],
  },
  'LIMIT of a quota': {
    kind: 'v1 ResourceQuota',
    index: 2,
    rows: [
      [
        { status: { hard: { 'limits.cpu': '2', pods: '3' }, used: { 'limits.cpu': '1' } } },
        'limits.cpu: 1/2',
      ],
    ],
  },
  'REQUEST of a quota': {
    kind: 'v1 ResourceQuota',
    index: 1,
    rows: [
      [{ status: { hard: { pods: '3', cpu: '1' }, used: { pods: '1' } } }, 'cpu: 0/1, pods: 1/3'],
    ],
  },
  'NOMINALCONCURRENCYSHARES of a priority level': {
    kind: 'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration',
    index: 2,
    rows: [
      [{ spec: { type: 'Exempt' } }, '<none>'],
      [{ spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } } }, 30],
      [
        {
          spec: {
            type: 'Limited',
            limited: { nominalConcurrencyShares: 7, limitResponse: { type: 'Reject' } },
          },
        },
        7,
      ],
    ],
  },
  'VALIDATION ERRORS of a request for the status of pools': {
    kind: 'resource.k8s.io/v1alpha3 ResourcePoolStatusRequest',
    index: 6,
    rows: [
      [{ spec: { driver: 'd' } }, '-'],
      [{ spec: { driver: 'd' }, status: { poolCount: 1, pools: [{ poolName: 'a' }] } }, '0'],
      [
        {
          spec: { driver: 'd' },
          status: {
            poolCount: 3,
            pools: [
              { poolName: 'a', validationError: 'x' },
              { poolName: 'b' },
              { poolName: 'c', validationError: 'y' },
            ],
          },
        },
        '2',
      ],
    ],
  },
  'MIN AVAILABLE of a budget': {
    kind: 'policy/v1 PodDisruptionBudget',
    index: 1,
    rows: [
      [{ spec: { minAvailable: 0 } }, '0'],
      [{ spec: { minAvailable: '50%' } }, '50%'],
      [{ spec: {} }, 'N/A'],
    ],
  },
}

for (const [name, { kind, index, rows }] of Object.entries(columns)) {
  t.test(name, async t => {
    const [apiVersion = '', kindName = ''] = kind.split(' ')
    for (const [object, cell] of rows) {
      const metadata = 'metadata' in object ? (object.metadata as object) : { name: 'x' }
      const cells = cellsOf(apiVersion, kindName, { ...object, metadata })
      t.strictSame(cells[index], cell, JSON.stringify(object))
    }
  })
}
