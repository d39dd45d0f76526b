import t from 'tap'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ObjectEncoder } from '../../../lib/codec/output/object-encoder.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { cellsOf, created } from './cells.ts'
import { fullObjects } from './full-objects.ts'
import { createdAt, day } from './full-shared.ts'

const metadata = { name: 'x', creationTimestamp: created }

t.test('a full object of every kind has the cells that kube-apiserver prints', async t => {
  for (const [apiVersion, kind, object, cells] of fullObjects) {
    const whole = {
      ...object,
      metadata: { ...metadata, ...('metadata' in object ? (object.metadata as object) : {}) },
    }
    t.strictSame(cellsOf(apiVersion, kind, whole), cells, `${apiVersion} ${kind}`)
  }
})

t.test('every stored kind of the resource table has a full object', async t => {
  const covered = new Set(fullObjects.map(([apiVersion, kind]) => `${apiVersion} ${kind}`))
  const stored = schemaOf().resources.flatMap(({ storage, verbs }) =>
    storage === null || !verbs.includes('list')
      ? []
      : [`${storage.group === '' ? '' : `${storage.group}/`}${storage.version} ${storage.kind}`],
  )
  t.strictSame(
    [...new Set(stored)].filter(kind => !covered.has(kind)),
    [],
  )
})

const none = '<none>'
const unset = '<unset>'
const unknown = '<unknown>'

/** The cells of an object with nothing in it but what the server fills in. */
const emptyCells: Readonly<Record<string, readonly unknown[]>> = {
  'v1 ConfigMap': ['', 0, unknown],
  'v1 ComponentStatus': ['', 'Unknown', '', ''],
  'v1 Endpoints': ['', none, unknown],
  'v1 Event': [unknown, '', '', '', '', '', '', unknown, 1, ''],
  'v1 LimitRange': ['', '0001-01-01T00:00:00Z'],
  'v1 Namespace': ['', 'Active', unknown],
  'v1 Node': ['', 'Unknown', none, unknown, '', none, none, unknown, unknown, unknown],
  'v1 PersistentVolume': [
    '',
    '0',
    '',
    'Retain',
    'Pending',
    '',
    '',
    unset,
    '',
    unknown,
    'Filesystem',
  ],
  'v1 PersistentVolumeClaim': ['', 'Pending', '', '', '', '', unset, unknown, 'Filesystem'],
  'v1 Pod': ['', '0/0', '', '0', unknown, none, none, none, none],
  'v1 PodTemplate': ['', '', '', none],
  'v1 ReplicationController': ['', 1, 0, 0, unknown, '', '', none],
  'v1 ResourceQuota': ['', '', '', unknown],
  'v1 Secret': ['', 'Opaque', 0, unknown],
  'v1 Service': ['', 'ClusterIP', none, none, none, unknown, none],
  'v1 ServiceAccount': ['', unknown],
  'admissionregistration.k8s.io/v1 MutatingAdmissionPolicy': ['', 0, unset, unknown],
  'admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding': ['', '', unset, unknown],
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration': ['', 0, unknown],
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy': ['', 0, unset, unknown],
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding': ['', '', unset, unknown],
  'admissionregistration.k8s.io/v1 MutatingWebhookConfiguration': ['', 0, unknown],
  'apiextensions.k8s.io/v1 CustomResourceDefinition': ['', '0001-01-01T00:00:00Z'],
  'apiregistration.k8s.io/v1 APIService': ['', 'Local', 'Unknown', unknown],
  'apps/v1 ControllerRevision': ['', none, 0n, unknown],
  'apps/v1 DaemonSet': ['', 0, 0, 0, 0, 0, none, unknown, '', '', none],
  'apps/v1 Deployment': ['', '0/1', 0, 0, unknown, '', '', ''],
  'apps/v1 ReplicaSet': ['', 1, 0, 0, unknown, '', '', none],
  'apps/v1 StatefulSet': ['', '0/1', unknown, '', ''],
  'autoscaling/v2 HorizontalPodAutoscaler': ['', '/', 'cpu: <unknown>/80%', '1', 0, 0, unknown],
  'batch/v1 CronJob': ['', '', none, 'False', 0, none, unknown, '', '', none],
  'batch/v1 Job': ['', 'Running', '0/1', '', unknown, '', '', none],
  'certificates.k8s.io/v1 CertificateSigningRequest': ['', unknown, none, '', none, 'Pending'],
  'certificates.k8s.io/v1beta1 ClusterTrustBundle': ['', none],
  'certificates.k8s.io/v1beta1 PodCertificateRequest': ['', '', '', '', '', 'Pending', none],
  'coordination.k8s.io/v1 Lease': ['', '', unknown],
  'coordination.k8s.io/v1beta1 LeaseCandidate': ['', '', '', '', unknown],
  'discovery.k8s.io/v1 EndpointSlice': ['', '', unset, unset, unknown],
  'flowcontrol.apiserver.k8s.io/v1 FlowSchema': ['', '', 1000, none, unknown, '?'],
  'flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration': [
    '',
    '',
    none,
    none,
    none,
    none,
    unknown,
  ],
  'internal.apiserver.k8s.io/v1alpha1 StorageVersion': ['', unset, unset, unknown],
  'networking.k8s.io/v1 IPAddress': ['', none, unknown],
  'networking.k8s.io/v1 Ingress': ['', none, '*', '', '80', unknown],
  'networking.k8s.io/v1 IngressClass': ['', '', none, unknown],
  'networking.k8s.io/v1 NetworkPolicy': ['', none, unknown],
  'networking.k8s.io/v1 ServiceCIDR': ['', '', unknown],
  'node.k8s.io/v1 RuntimeClass': ['', '', unknown],
  'policy/v1 PodDisruptionBudget': ['', 'N/A', 'N/A', 0, unknown],
  'rbac.authorization.k8s.io/v1 ClusterRole': ['', '0001-01-01T00:00:00Z'],
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': ['', '/', unknown, '', '', ''],
  'rbac.authorization.k8s.io/v1 Role': ['', '0001-01-01T00:00:00Z'],
  'rbac.authorization.k8s.io/v1 RoleBinding': ['', '/', unknown, '', '', ''],
  'resource.k8s.io/v1 DeviceClass': ['', unknown],
  'resource.k8s.io/v1 ResourceClaim': ['', 'pending', unknown],
  'resource.k8s.io/v1 ResourceClaimTemplate': ['', unknown],
  'resource.k8s.io/v1 ResourceSlice': ['', '', '', '', unknown],
  'resource.k8s.io/v1beta2 DeviceTaintRule': ['', '', '', '', '', unknown],
  'resource.k8s.io/v1alpha3 ResourcePoolStatusRequest': [
    '',
    '',
    '-',
    '-',
    '-',
    '-',
    '-',
    0,
    'Pending',
    none,
  ],
  'scheduling.k8s.io/v1 PriorityClass': ['', 0, false, unknown, 'PreemptLowerPriority'],
  'scheduling.k8s.io/v1alpha2 PodGroup': ['', 'Basic', none, 'Pending', unknown],
  'scheduling.k8s.io/v1alpha2 Workload': ['', unknown],
  'storage.k8s.io/v1 CSIDriver': ['', true, false, false, unset, false, 'Persistent', unknown],
  'storage.k8s.io/v1 CSINode': ['', 0, unknown],
  'storage.k8s.io/v1 CSIStorageCapacity': ['', '0001-01-01T00:00:00Z'],
  'storage.k8s.io/v1 StorageClass': ['', '', 'Delete', 'Immediate', false, unknown],
  'storage.k8s.io/v1 VolumeAttachment': ['', '', '', '', false, unknown],
  'storage.k8s.io/v1 VolumeAttributesClass': ['', '', unknown],
  'storagemigration.k8s.io/v1beta1 StorageVersionMigration': ['', '', 'Unknown'],
}

t.test('an object without anything in it is printed, too', async t => {
  for (const [name, cells] of Object.entries(emptyCells)) {
    const [apiVersion = '', kind = ''] = name.split(' ')
    t.strictSame(cellsOf(apiVersion, kind, {}), cells, name)
  }
  const printed = new Set(Object.keys(emptyCells).map(name => name.split(' ')[1]))
  const kinds = schemaOf().resources.filter(({ verbs }) => verbs.includes('list'))
  t.strictSame(
    kinds.filter(({ kind }) => !printed.has(kind)).map(({ kind }) => kind),
    [],
  )
})

t.test('states of alpha kinds are those that a kube-apiserver 1.36 printed', async t => {
  const lastTransitionTime = createdAt
  const are = (
    ...pairs: readonly (readonly [type: string, status: string, reason?: string])[]
  ) => ({
    conditions: pairs.map(([type, status, reason = 'R']) => {
      return { type, status, reason, lastTransitionTime }
    }),
  })
  const group = { schedulingPolicy: { basic: {} } }
  for (const [status, state] of [
    [are(['PodGroupScheduled', 'False', 'X']), 'Unschedulable'],
    [are(['PodGroupScheduled', 'True']), 'Scheduled'],
    [are(['PodGroupScheduled', 'True'], ['DisruptionTarget', 'False', 'Gone']), 'Gone'],
    [are(['Other', 'True']), 'Pending'],
  ] as const) {
    const cells = cellsOf('scheduling.k8s.io/v1alpha2', 'PodGroup', { spec: group, status })
    t.strictSame(cells.slice(1, 4), ['Basic', '<none>', state])
  }
  const counts = {
    totalDevices: 4,
    availableDevices: 1,
    allocatedDevices: 2,
    unavailableDevices: 1,
  }
  const pools = [counts, { validationError: 'bad' }]
  const [sums, zeros] = [
    ['4', '1', '2', '1', '1'],
    ['0', '0', '0', '0', '0'],
  ]
  for (const [status, cells] of [
    [{ poolCount: 0, ...are(['Complete', 'True']) }, [...zeros, 0, 'Complete', day]],
    [
      { poolCount: 3, pools, ...are(['Complete', 'True']) },
      [...sums, 3, 'Complete (2/3 pools)', day],
    ],
    [
      { poolCount: 1, ...are(['Failed', 'True']) },
      ['-', '-', '-', '-', '-', 1, 'Failed', '<none>'],
    ],
    [{ poolCount: 2, pools, ...are(['Other', 'True']) }, [...sums, 2, 'Pending', '<none>']],
  ] as const) {
    const shown = cellsOf('resource.k8s.io/v1alpha3', 'ResourcePoolStatusRequest', { status })
    t.strictSame(shown.slice(2), cells)
  }
  for (const [status, state] of [
    [are(['Other', 'True']), 'Unknown'],
    [are(['Succeeded', 'True'], ['Other', 'True']), 'Succeeded'],
    [are(['Failed', 'False']), 'Unknown'],
    [are(['Running', 'True'], ['Failed', 'True']), 'Failed'],
  ] as const) {
    const version = 'storagemigration.k8s.io/v1beta1'
    t.equal(cellsOf(version, 'StorageVersionMigration', { status })[2], state)
  }
})

t.test('texts of a secret count as what they become, once for each name', async t => {
  const data = { a: 'QQ==', c: 'Qw==' }
  const cells = cellsOf('v1', 'Secret', { data, stringData: { a: 'A', b: 'B' } })
  t.equal(cells[2], 3)
})

/** The row of a built-in object that lies in etcd as JSON. */
function rowOf(resource: string, object: object): string {
  const found = builtInResources(schemaOf()).find(one => one.resource === resource)
  if (found?.storage === undefined) throw new Error(resource)
  const { storage, kind } = found
  const encoder = new ObjectEncoder({ ...found, storage, schema: schemaOf() }, undefined)
  const bytes = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind, ...object }))
  const rendering = { rendering: 'Table', renderingVersion: 'v1', includeObject: 'None' } as const
  const shown = { ...rendering, encoding: 'json', now: Date.parse(created) } as const
  const out = new ByteWriter()
  const entry = { bytes, start: 0, end: bytes.length }
  const problem = encoder.append(out, entry, { form: shown, revision: 1, place: 'item' })
  return problem?.reason ?? Buffer.from(out.copy()).toString()
}

t.test('amounts are shown as the server rounds them, up to thousandths', async t => {
  const volume = (storage: string): object => ({ metadata, spec: { capacity: { storage } } })
  for (const [small, shown] of [
    ['100u', '1m'],
    ['5n', '1m'],
    ['1e-6', '1e-3'],
    ['1e-9', '1e-3'],
    ['0.0001', '1m'],
  ] as const) {
    t.match(rowOf('persistentvolumes', volume(small)), `"cells":["x","${shown}"`, small)
    const quota = { metadata, status: { hard: { cpu: small }, used: { cpu: '1' } } }
    t.match(rowOf('resourcequotas', quota), `"cells":["x","cpu: 1/${shown}"`, small)
  }
  for (const shown of ['100m', '1e6', '1Gi']) {
    t.match(rowOf('persistentvolumes', volume(shown)), `"cells":["x","${shown}"`)
  }
})
