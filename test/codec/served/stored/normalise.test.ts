import t from 'tap'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { ByteWriter } from '../../../../lib/base/bytes/byte-writer.ts'
import { type Schema, schemaOf } from '../../../../lib/codec/schema/schema.ts'
import { appendObject, appendObjectProtobuf } from '../../../../lib/codec/served/object-view.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'

interface Asked {
  readonly apiVersion: string
  readonly kind: string
  readonly schema?: Schema
}

function served(
  append: typeof appendObject,
  stored: Uint8Array,
  { apiVersion, kind, schema = schemaOf() }: Asked,
): Buffer | string {
  const out = new ByteWriter()
  const value = { bytes: stored, start: 0, end: stored.length }
  const asked = { schema, apiVersion, kind, custom: undefined }
  const problem = append(out, value, asked, { resourceVersion: '7', isItem: false })
  return problem === undefined ? Buffer.from(out.copy()) : problem.reason
}

/** The served form of stored JSON, as JSON. */
function shown(json: string, asked: Asked): string {
  return served(appendObject, Buffer.from(json), asked).toString()
}

function protobuf(object: object, schema = schemaOf()): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(object))
  const value = protobufFromJson(bytes, 0, bytes.length, schema)
  if (value instanceof NotExact) throw new Error(value.reason)
  return value
}

const secret: Asked = { apiVersion: 'v1', kind: 'Secret' }
const configMap: Asked = { apiVersion: 'v1', kind: 'ConfigMap' }

t.test('stored JSON is put in order, and its defaults are filled in', async t => {
  t.equal(
    shown(
      '{ "data":{"b":"MQ==","a":""}, "metadata":{"unknown":1,"name":"s"},"kind":"Secret","apiVersion":"v1","x":{} }',
      secret,
    ),
    '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","resourceVersion":"7"},"data":{"a":"","b":"MQ=="},"type":"Opaque"}',
  )
})

t.test('stored JSON is the same object in protobuf', async t => {
  const object = { kind: 'Secret', apiVersion: 'v1', metadata: { name: 's' }, data: { a: 'MQ==' } }
  const bytes = served(appendObjectProtobuf, Buffer.from(JSON.stringify(object)), secret) as Buffer
  const metadata = { name: 's', resourceVersion: '7' }
  t.ok(bytes.equals(protobuf({ ...object, metadata, type: 'Opaque' })))
})

t.test(
  'defaults in words are filled in, and what Go keeps once only is the same in both places',
  async t => {
    const pod = { apiVersion: 'v1', kind: 'Pod' }
    const annotations = { a: 'b', 'pod.beta.kubernetes.io/init-containers': 'x' }
    const spec = {
      hostNetwork: true,
      serviceAccount: 'old',
      terminationGracePeriodSeconds: -5,
      containers: [
        {
          name: 'c',
          image: 'i',
          ports: [{ containerPort: 80 }],
          resources: { limits: { cpu: 0.5 } },
        },
        { name: 'd', image: 'r.example.com:5000/i:1' },
      ],
      volumes: [{ name: 'v' }],
    }
    const status = { podIPs: [{ ip: '10.0.0.1' }] }
    const json = shown(JSON.stringify({ ...pod, metadata: { annotations }, spec, status }), pod)
    for (const text of [
      '"annotations":{"a":"b"}',
      '"terminationGracePeriodSeconds":1,',
      '"serviceAccountName":"old","serviceAccount":"old"',
      '"ports":[{"hostPort":80,"containerPort":80,"protocol":"TCP"}]',
      '"limits":{"cpu":"500m"},"requests":{"cpu":"500m"}',
      '"imagePullPolicy":"Always"',
      '"imagePullPolicy":"IfNotPresent"',
      '"volumes":[{"name":"v","emptyDir":{}}]',
      '"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]',
    ]) {
      t.match(json, text)
    }
    t.match(
      shown(
        '{"kind":"Secret","apiVersion":"v1","data":{"a":"MQ=="},"stringData":{"a":"é"}}',
        secret,
      ),
      '"data":{"a":"w6k="},"type":"Opaque"}',
    )
    const node = { apiVersion: 'v1', kind: 'Node' }
    t.match(
      shown('{"kind":"Node","apiVersion":"v1","spec":{"podCIDR":"a","podCIDRs":["b"]}}', node),
      '"podCIDR":"a","podCIDRs":["a"]',
    )
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' }
    t.match(
      shown(JSON.stringify({ ...claim, spec: { dataSource: { kind: 'K', name: 'n' } } }), claim),
      '"dataSource":{"apiGroup":null,"kind":"K","name":"n"},"dataSourceRef":{"apiGroup":null,"kind":"K","name":"n"}',
    )
    const range = { apiVersion: 'v1', kind: 'LimitRange' }
    const limits = [{ type: 'Container', max: { cpu: '1' }, min: { memory: '1Mi' } }]
    t.match(
      shown(JSON.stringify({ ...range, spec: { limits } }), range),
      '"default":{"cpu":"1"},"defaultRequest":{"cpu":"1","memory":"1Mi"}',
    )
  },
)

t.test('what a minor version fills in is up to its features', async t => {
  const volumes = [{ name: 'v', image: { reference: 'r/i:1' } }]
  const containers = [{ name: 'c', image: 'i' }]
  const spec = { containers, volumes, resources: { limits: { cpu: '1' } } }
  const json = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', spec })
  for (const minor of ['1.33', '1.34', '1.35', '1.36']) {
    const text = shown(json, { apiVersion: 'v1', kind: 'Pod', schema: schemaOf(minor) })
    t.equal(text.includes('"pullPolicy":"IfNotPresent"'), minor >= '1.35', minor)
    t.equal(text.includes('"requests":{"cpu":"1"}'), minor >= '1.34', minor)
  }
})

t.test(
  'a pod that says all that it asks for is shown, whatever its containers ask for',
  async t => {
    const asked = { apiVersion: 'v1', kind: 'Pod' }
    const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '2' } } }]
    const podOf = (requests: object): string => {
      const resources = { limits: { cpu: '4' }, requests }
      return shown(JSON.stringify({ ...asked, spec: { containers, resources } }), asked)
    }
    t.match(podOf({ cpu: '1' }), '"resources":{"limits":{"cpu":"4"},"requests":{"cpu":"1"}}')
    t.match(podOf({}), 'requests of a pod are those of its containers')
  },
)

t.test('the ports of the host are those of pods on its network, not of templates', async t => {
  const spec = {
    hostNetwork: true,
    containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }],
  }
  const pod = { apiVersion: 'v1', kind: 'Pod' }
  t.match(shown(JSON.stringify({ ...pod, spec }), pod), '"hostPort":80')
  const template = { apiVersion: 'v1', kind: 'PodTemplate' }
  const text = shown(JSON.stringify({ ...template, template: { spec } }), template)
  t.match(text, '"containerPort":80')
  t.notMatch(text, '"hostPort"')
})

t.test('raw JSON inside an object keeps its text', async t => {
  const revision = '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"}'
  const data = '{ "b":1.0,"a" : "<\\u003c" }'
  const asked = { apiVersion: 'apps/v1', kind: 'ControllerRevision' }
  const json = Buffer.from(`${revision},"data":${data},"revision":1}`)
  t.match(served(appendObject, json, asked).toString(), '"data":{"b":1.0,"a":"\\u003c\\u003c"}')
  t.ok((served(appendObjectProtobuf, json, asked) as Buffer).includes(data))
})

t.test('what Go reads in a way of its own is not exact', async t => {
  const cases: readonly (readonly [json: string, asked: Asked, reason: RegExp])[] = [
    [
      '{"kind":"ConfigMap","apiVersion":"v1","metadata":{},"data":{"a":"1","a":"2"}}',
      configMap,
      /repeated/,
    ],
    ['{"Kind":"x","kind":"ConfigMap","apiVersion":"v1"}', configMap, /another kind/],
    ['{"kind":"Secret","apiVersion":"v1"}', configMap, /another kind/],
    ['{"kind":"ConfigMap","apiVersion":"v2"}', configMap, /no schema/],
    ['{"kind":"ConfigMap","apiVersion":"v1","data":{"a":null}}', configMap, /null/],
    ['{"kind":"ConfigMap","apiVersion":"v1","data":{"a":1}}', configMap, /not a text/],
    ['{"kind":"ConfigMap","apiVersion":"v1"', configMap, /malformed/],
    [
      '{"kind":"ClusterRole","apiVersion":"rbac.authorization.k8s.io/v1","rules":[]}',
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' },
      /rules is empty/,
    ],
    [
      '{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","spec":{"leaseTransitions":1.0}}',
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
      /whole number/,
    ],
    [
      '{"kind":"Service","apiVersion":"v1","spec":{"clusterIP":"10.0.0.1","ports":[{"port":1}]}}',
      { apiVersion: 'v1', kind: 'Service' },
      /a default that we do not apply/,
    ],
  ]
  for (const [json, asked, reason] of cases) t.match(shown(json, asked), reason, json)
})

t.test('bytes of older and newer servers are written as this one writes them', async t => {
  const [old, present, next] = ['1.32', '1.36', '1.37'].map(minor => schemaOf(minor))
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p' },
    spec: {
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      enableServiceLinks: true,
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }
  const withVersion = { ...pod, metadata: { name: 'p', resourceVersion: '7' } }
  for (const from of [old, present, next]) {
    for (const schema of [old, present, next]) {
      const stored = protobuf(pod, from)
      const asked = { apiVersion: 'v1', kind: 'Pod', schema }
      const made = served(appendObjectProtobuf, stored, asked as Asked) as Buffer
      t.ok(made.equals(protobuf(withVersion, schema)), `${from?.minor} in ${schema?.minor}`)
    }
  }
})

t.test('an older storage version of the same shape is served as the present one', async t => {
  const schedule = { schedule: '@daily', jobTemplate: {} }
  const job = { kind: 'CronJob', metadata: { name: 'c' }, spec: schedule }
  const asked = { apiVersion: 'batch/v1', kind: 'CronJob' }
  const expected = shown(JSON.stringify({ ...job, apiVersion: 'batch/v1' }), asked)
  t.match(expected, '"concurrencyPolicy":"Allow"')
  t.equal(shown(JSON.stringify({ ...job, apiVersion: 'batch/v1beta1' }), asked), expected)
  const lease = { kind: 'Lease', metadata: { name: 'l' }, spec: { holderIdentity: 'me' } }
  const bytes = protobuf({ ...lease, apiVersion: 'coordination.k8s.io/v1beta1' })
  t.match(
    served(appendObject, bytes, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }).toString(),
    '"apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l","resourceVersion":"7"}',
  )
})

t.test('an older storage version that Go converts is not exact', async t => {
  const budget = { kind: 'PodDisruptionBudget', apiVersion: 'policy/v1beta1', metadata: {} }
  const asked = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' }
  t.match(shown(JSON.stringify(budget), asked), /stored as policy\/v1beta1/)
})

t.test('an event that is stored in its own group is served in both', async t => {
  const event = { kind: 'Event', apiVersion: 'events.k8s.io/v1', metadata: { name: 'e' } }
  const bytes = protobuf({ ...event, note: 'n', regarding: { name: 'r' }, deprecatedCount: 2 })
  t.match(
    served(appendObject, bytes, { apiVersion: 'v1', kind: 'Event' }).toString(),
    /"apiVersion":"v1".*"involvedObject":\{"name":"r"\},.*"message":"n",.*"count":2/,
  )
  t.match(
    served(appendObject, bytes, { apiVersion: 'events.k8s.io/v1', kind: 'Event' }).toString(),
    /"apiVersion":"events.k8s.io\/v1".*"regarding":\{"name":"r"\},"note":"n".*"deprecatedCount":2/,
  )
})

t.test(
  'an autoscaler of autoscaling/v1 is served in both versions, however it is stored',
  async t => {
    const metrics = JSON.stringify([
      { type: 'Pods', pods: { metricName: 'rps', targetAverageValue: '5' } },
      { type: 'External', external: { metricName: 'q', targetValue: '7' } },
    ])
    const annotations = { keep: 'me', 'autoscaling.alpha.kubernetes.io/metrics': metrics }
    const autoscaler = {
      kind: 'HorizontalPodAutoscaler',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'h', annotations },
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd' },
        minReplicas: 2,
        maxReplicas: 4,
        targetCPUUtilizationPercentage: 60,
      },
      status: { currentReplicas: 1, desiredReplicas: 2, currentCPUUtilizationPercentage: 30 },
    }
    const kind = 'HorizontalPodAutoscaler'
    const forms = [Buffer.from(JSON.stringify(autoscaler)), protobuf(autoscaler)]
    for (const stored of forms) {
      const v2 = JSON.parse(
        served(appendObject, stored, { apiVersion: 'autoscaling/v2', kind }).toString(),
      ) as { metadata: object; spec: { metrics: object[] }; status: object }
      t.same(v2.metadata, { name: 'h', resourceVersion: '7', annotations: { keep: 'me' } })
      t.same(v2.spec.metrics, [
        {
          type: 'Pods',
          pods: { metric: { name: 'rps' }, target: { type: 'AverageValue', averageValue: '5' } },
        },
        {
          type: 'External',
          external: { metric: { name: 'q' }, target: { type: 'Value', value: '7' } },
        },
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } },
        },
      ])
      const v1 = served(appendObject, stored, { apiVersion: 'autoscaling/v1', kind }).toString()
      t.match(v1, '"targetCPUUtilizationPercentage":60')
      t.match(v1, '"currentCPUUtilizationPercentage":30')
      t.match(v1, '\\"metricName\\":\\"rps\\"')
    }
  },
)
