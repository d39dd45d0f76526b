import { createHmac } from 'node:crypto'
import t from 'tap'
import { keyFromText, textFromKey } from '../../../lib/base/keys.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { Anonymizer } from '../../../lib/simulator/generate/anonymize.ts'
import { GeneratedCluster } from '../../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../../lib/simulator/generate/plan.ts'
import { Pseudonyms } from '../../../lib/simulator/generate/pseudonyms.ts'

const digest = (text: string): Uint8Array => createHmac('sha256', 'test').update(text).digest()

function renamed(anonymizer: Anonymizer, object: object): Record<string, never> {
  const json = Buffer.from(JSON.stringify(object))
  const stored = protobufFromJson(json)
  const value = anonymizer.value(stored instanceof NotExact ? json : stored)
  if (value instanceof NotExact) throw new Error(value.reason)
  const text = stored instanceof NotExact ? value : jsonFromProtobuf(value)
  if (text instanceof NotExact) throw new Error(text.reason)
  return JSON.parse(Buffer.from(text).toString()) as Record<string, never>
}

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'payments-7d9f',
    namespace: 'acme-billing',
    uid: '0d4f3a64-8c7b-4e21-9a55-3f1f5a0b7c11',
    creationTimestamp: '2026-01-02T03:04:05Z',
    labels: { app: 'payments', 'team.acme.example/owner': 'Gordon' },
    annotations: { note: 'call 0123 Gordon' },
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: 'payments',
        uid: '0d4f3a64-8c7b-4e21-9a55-3f1f5a0b7c12',
      },
    ],
  },
  spec: {
    nodeName: 'acme-node-3',
    containers: [
      {
        name: 'payments',
        image: 'registry.acme.example/payments:v1',
        args: ['--password', 'Secret12'],
        env: [{ name: 'PIN', value: '12' }],
        resources: { requests: { cpu: '250m', memory: '64Mi' } },
      },
    ],
    restartPolicy: 'Always',
  },
  status: {
    phase: 'Running',
    podIP: '192.168.7.9',
    conditions: [{ type: 'Ready', status: 'True' }],
  },
}

t.test(
  'names and texts become pseudonyms that fit each other; kinds, sizes and times stay',
  async t => {
    const anonymizer = new Anonymizer(schemaOf(), digest)
    const got = renamed(anonymizer, pod) as unknown as typeof pod
    const text = JSON.stringify(got)
    for (const word of [
      'payments',
      'acme',
      'billing',
      'Gordon',
      'Secret12',
      '192.168',
      'PIN',
      '0d4f3a64',
    ]) {
      t.notOk(text.includes(word), word)
    }
    t.match(got, {
      kind: 'Pod',
      metadata: { creationTimestamp: pod.metadata.creationTimestamp },
      spec: {
        containers: [{ resources: pod.spec.containers[0]?.resources }],
        restartPolicy: 'Always',
      },
      status: { phase: 'Running', podIP: /^10\./, conditions: pod.status.conditions },
    })
    const [container] = got.spec.containers
    t.equal(container?.name, got.metadata.labels.app)
    t.equal(got.metadata.ownerReferences[0]?.name, container?.name)
    t.not(container?.env[0]?.value, '12')
    t.match(got.metadata.uid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    const key = textFromKey(
      anonymizer.key(keyFromText('/registry/pods/acme-billing/payments-7d9f')),
    )
    t.equal(key, `/registry/pods/${got.metadata.namespace}/${got.metadata.name}`)
  },
)

t.test('nothing of a secret stays, and of a custom resource only its form', async t => {
  const anonymizer = new Anonymizer(schemaOf(), digest)
  const data = { 'tls.key': Buffer.from('a very private key').toString('base64') }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data, type: 'Opaque' }
  const got = renamed(anonymizer, secret) as unknown as typeof secret
  t.equal(got.data['tls.key']?.length, data['tls.key'].length)
  t.not(got.data['tls.key'], data['tls.key'])
  t.equal(got.type, 'Opaque')
  const custom = {
    apiVersion: 'db.acme.example/v1alpha1',
    kind: 'Database',
    metadata: { name: 'orders' },
    spec: { owner: 'Gordon', size: 3, password: 'Hunter', phase: 'Ready' },
  }
  const database = renamed(anonymizer, custom) as unknown as typeof custom
  t.match(database, {
    kind: 'Database',
    apiVersion: /\/v1alpha1$/,
    spec: { size: 3, phase: 'Ready' },
  })
  t.notMatch(JSON.stringify(database), /acme|orders|Gordon|Hunter/)
})

t.test('no two words get one pseudonym', async t => {
  const pseudonyms = new Pseudonyms(digest, new Set(['abd']))
  const words = Array.from({ length: 3000 }, (_, i) => (i + 36 ** 2 * 10).toString(36))
  const taken = new Set(words.map(word => pseudonyms.text(word)))
  t.equal(taken.size, words.length)
  t.equal(
    pseudonyms.text('größe Straße 日本語ですよ'),
    pseudonyms.text('größe Straße 日本語ですよ'),
  )
  t.notMatch(pseudonyms.text('größe 日本語ですよ'), /gr|日/)
})

t.test('what is not an object of Kubernetes is refused', async t => {
  const anonymizer = new Anonymizer(schemaOf(), digest)
  for (const text of ['k8s:enc:aescbc:v1:key1:xx', '[]', '{"a":1}', '']) {
    t.type(anonymizer.value(Buffer.from(text)), NotExact, text)
  }
})

t.test('quantities, times and numbers of every generated kind stay', async t => {
  const anonymizer = new Anonymizer(schemaOf(), digest)
  const cluster = new GeneratedCluster({
    plan: parsePlan('pods=60,nodes=5,services=5,events=10,secrets=3,configmaps=3'),
    random: createRandom(1),
    nowMs: 1_750_000_000_000,
    prefix: '/registry',
  })
  const kinds = new Set<string>()
  for (const change of cluster.objects()) {
    if (change.type !== 'put') continue
    const before = objectOf(change.value)
    const after = objectOf(unless(anonymizer.value(change.value)))
    kinds.add(String(before.get('kind')))
    const kept = measuresOf(before)
    t.ok(kept.length > 0)
    t.strictSame(measuresOf(after), kept, textFromKey(change.key))
  }
  for (const kind of ['Node', 'Lease', 'Pod', 'Deployment', 'ReplicaSet', 'Service', 'Event']) {
    t.ok(kinds.has(kind), kind)
  }
})

t.test('quantities stay whatever their form, where a field has them', async t => {
  const anonymizer = new Anonymizer(schemaOf(), digest)
  const amounts = {
    cpu: '7910m',
    memory: '65841552Ki',
    'ephemeral-storage': '95491281146',
    'hugepages-2Mi': '1536Mi',
    pods: '110',
  }
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'acme', labels: { account: '123456789012' } },
    status: { capacity: amounts, allocatable: amounts },
  }
  const got = renamed(anonymizer, node) as unknown as typeof node
  t.match(got.status, node.status)
  t.not(got.metadata.labels.account, '123456789012')
  const scaler = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'a', namespace: 'b' },
    spec: {
      scaleTargetRef: { kind: 'Deployment', name: 'a', apiVersion: 'apps/v1' },
      maxReplicas: 3,
      metrics: [
        {
          type: 'External',
          external: { metric: { name: 'queue' }, target: { type: 'Value', value: '1500M' } },
        },
      ],
    },
  }
  const [metric] = (renamed(anonymizer, scaler) as unknown as typeof scaler).spec.metrics
  t.equal(metric?.external.target.value, '1500M')
  const custom = {
    apiVersion: 'acme.example/v1',
    kind: 'Cache',
    metadata: { name: 'a', namespace: 'b' },
    spec: { memory: '65841552Ki', disk: '512Gi', cpu: '250m', account: '123456789012' },
  }
  const { spec } = renamed(anonymizer, custom) as unknown as typeof custom
  t.match(spec, { memory: '65841552Ki', disk: '512Gi', cpu: '250m' })
  t.not(spec.account, custom.spec.account)
})

t.test('keys that users name are renamed as the names elsewhere are', async t => {
  const anonymizer = new Anonymizer(schemaOf(), digest)
  const gpu = 'acme.example/gpu-large'
  const metadata = { name: 'a', namespace: 'b' }
  const objects = [
    { apiVersion: 'v1', kind: 'Node', metadata, status: { capacity: { [gpu]: '1e3', cpu: '2' } } },
    {
      ...pod,
      spec: {
        containers: [
          {
            name: 'a',
            resources: { limits: { [gpu]: '2' }, requests: { [gpu]: '2', memory: '1Gi' } },
            env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: `limits.${gpu}` } } }],
          },
        ],
        volumes: [
          {
            name: 'a',
            csi: { driver: 'acme.example', volumeAttributes: { acmeTenant: 'Gordon' } },
          },
        ],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata,
      spec: { hard: { [`requests.${gpu}`]: '4' } },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata,
      spec: {
        csi: { driver: 'acme.example', volumeHandle: 'a', volumeAttributes: { acmePool: 'b' } },
      },
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata,
      provisioner: 'acme.example',
      parameters: { acmePool: 'b' },
    },
    {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata,
      spec: {
        driver: 'acme.example',
        pool: { name: 'a', generation: 1, resourceSliceCount: 1 },
        devices: [
          {
            name: 'a',
            attributes: { 'acme.example/model': { string: 'Gordon' }, acmeVersion: { int: 1 } },
            capacity: { acmeMemory: { value: '1Gi' } },
          },
        ],
      },
    },
    {
      apiVersion: 'db.example.com/v1',
      kind: 'Database',
      metadata,
      spec: {
        size: 3,
        template: { limits: { [gpu]: '2' }, volumeAttributes: { acmeTenant: 'x' } },
      },
    },
  ]
  const shown = objects.map(object => JSON.stringify(renamed(anonymizer, object)))
  for (const text of shown) t.notMatch(text, /acme|gordon|gpu|tenant/i)
  const pseudonym = Object.keys(JSON.parse(shown[0]!).status.capacity as object).find(
    name => name !== 'cpu',
  )!
  t.match(pseudonym, /^\w{4}\.\w{7}\/\w{3}-\w{5}$/)
  t.match(JSON.parse(shown[0]!), { status: { capacity: { [pseudonym]: '1e3', cpu: '2' } } })
  t.match(JSON.parse(shown[1]!).spec.containers[0], {
    resources: { limits: { [pseudonym]: '2' }, requests: { [pseudonym]: '2', memory: '1Gi' } },
    env: [{ valueFrom: { resourceFieldRef: { resource: `limits.${pseudonym}` } } }],
  })
  t.match(JSON.parse(shown[2]!).spec, { hard: { [`requests.${pseudonym}`]: '4' } })
  t.match(JSON.parse(shown[6]!).spec, { size: 3, template: { limits: { [pseudonym]: '2' } } })
})

t.test('fields of a definition stay, as those of its objects do', async t => {
  const anonymizer = new Anonymizer(schemaOf(), digest)
  const properties = { ownerTeam: { type: 'string' } }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'databases.acme.example' },
    spec: {
      group: 'acme.example',
      scope: 'Namespaced',
      names: {
        plural: 'databases',
        singular: 'database',
        kind: 'Database',
        listKind: 'DatabaseList',
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties, required: ['ownerTeam'] } },
            },
          },
        },
      ],
    },
  }
  const got = renamed(anonymizer, definition) as unknown as typeof definition
  t.match(got.spec.versions[0]!.schema.openAPIV3Schema.properties, {
    spec: { properties, required: ['ownerTeam'] },
  })
  t.notMatch(got.spec.group, /acme/)
})

function unless<T>(value: T | NotExact): T {
  if (value instanceof NotExact) throw new Error(value.reason)
  return value
}

function objectOf(stored: Uint8Array): Map<string, unknown> {
  const object: unknown = JSON.parse(Buffer.from(unless(jsonFromProtobuf(stored))).toString())
  return new Map(Object.entries(object as Record<string, unknown>))
}

/** The numbers, switches, times and quantities of an object, each with its path but for names that
 *  clients choose. */
function measuresOf(value: unknown, path = ''): string[] {
  if (value instanceof Map) {
    return [...value].flatMap(([key, item]) => measuresOf(item, String(key)))
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).flatMap(([key, item]) =>
      /annotations|labels|data|fieldsV1|selector/i.test(key)
        ? []
        : measuresOf(item, `${path}.${Array.isArray(value) ? '' : key}`),
    )
  }
  const isMeasure =
    typeof value !== 'string' || /^\d{4}-\d\d-\d\dT|^\d+(?:m|[KMG]i|[kMG])?$/.test(value)
  return isMeasure && !path.endsWith('.value') ? [`${path}: ${String(value)}`] : []
}
