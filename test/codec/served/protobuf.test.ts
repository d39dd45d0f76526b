import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { appendObjectProtobuf } from '../../../lib/codec/served/object-view.ts'
import { appendProtobufView } from '../../../lib/codec/served/protobuf.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { type ViewOptions, appendView } from '../../../lib/codec/served/view.ts'
import { loadVectors } from '../transcode/vectors.ts'

function viewed(
  append: typeof appendView,
  value: Uint8Array,
  options: Partial<ViewOptions> = {},
): Buffer | NotExact {
  const out = new ByteWriter()
  // The value lies between other bytes, as it does in a slab.
  const bytes = Buffer.concat([Buffer.from([8, 1, 8]), value, Buffer.from([8, 1])])
  const stored = { bytes, start: 3, end: 3 + value.length }
  const refused = append(out, stored, {
    schema: schemaOf(),
    resourceVersion: '12345',
    ...options,
  })
  return refused ?? Buffer.from(out.copy())
}

function stored(object: object): Uint8Array {
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  return value
}

function spliced(object: object, options: Partial<ViewOptions> = {}): Buffer {
  const made = viewed(appendProtobufView, stored(object), options)
  if (made instanceof NotExact) throw new Error(made.reason)
  return made
}

const configMap = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', uid: 'u' } }

t.test('only the resourceVersion and the lengths around it change', async t => {
  const long = { ...configMap, data: { key: 'v'.repeat(20_000) } }
  for (const object of [configMap, long]) {
    const withVersion = {
      ...object,
      metadata: { name: 'a', uid: 'u', resourceVersion: '12345' },
    }
    t.ok(spliced(object).equals(stored(withVersion)))
    t.ok(spliced(withVersion).equals(stored(withVersion)), 'also in place of another')
  }
})

t.test('lengths grow by a byte where they have to', async t => {
  for (let length = 80; length < 130; length++) {
    const metadata = { name: 'n'.repeat(length) }
    const expected = stored({ ...configMap, metadata: { ...metadata, resourceVersion: '12345' } })
    t.ok(spliced({ ...configMap, metadata }).equals(expected), `${length}`)
  }
})

t.test('fields that a writer left out are written as Go writes them', async t => {
  // {1: {1: 'a', 5: 'u'}}, by a writer that leaves out empty texts.
  const raw = Buffer.from('0a060a01612a0175', 'hex')
  const name = Buffer.from('6b3873000a0f0a0276311209436f6e6669674d617012', 'hex')
  const value = Buffer.concat([
    name,
    Buffer.from([raw.length]),
    raw,
    Buffer.from('1a002200', 'hex'),
  ])
  t.match(viewed(appendProtobufView, value), { reason: /other fields than this server writes/ })
  const kind = { schema: schemaOf(), apiVersion: 'v1', kind: 'ConfigMap', custom: undefined }
  const out = new ByteWriter()
  const options = { resourceVersion: '12345', isItem: true }
  const whole = { bytes: value, start: 0, end: value.length }
  t.equal(appendObjectProtobuf(out, whole, kind, options), undefined)
  const metadata = { name: 'a', uid: 'u', resourceVersion: '12345' }
  const written = stored({ kind: 'ConfigMap', apiVersion: 'v1', metadata })
  t.ok(Buffer.from(written).includes(Buffer.from(out.copy())))
})

t.test('a message that was left out has its defaults, too', async t => {
  const value = stored({ kind: 'Deployment', apiVersion: 'apps/v1', metadata: {} })
  t.match(viewed(appendProtobufView, value), { reason: /^a default that we do not apply could/ })
})

t.test('an item of a list is the message without its envelope', async t => {
  const whole = spliced(configMap)
  const item = spliced(configMap, { isItem: true })
  t.ok(whole.includes(item))
  t.equal(item[0], 0x0a)
})

t.test('a relabelled version is named in the envelope', async t => {
  const class_ = { kind: 'VolumeAttributesClass', apiVersion: 'storage.k8s.io/v1', metadata: {} }
  const apiVersion = 'storage.k8s.io/v1beta1'
  const expected = stored({ ...class_, apiVersion, metadata: { resourceVersion: '12345' } })
  t.ok(spliced(class_, { apiVersion }).equals(expected))
})

t.test('an empty phase and the labels of a job are filled in as in JSON', async t => {
  const metadata = { name: 'a', resourceVersion: '12345' }
  const claim = {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata,
    spec: { volumeMode: 'Block' },
  }
  t.ok(spliced(claim).equals(stored({ ...claim, status: { phase: 'Pending' } })))
  const spec = {
    completions: 1,
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    manualSelector: false,
    suspend: false,
    podReplacementPolicy: 'Failed',
    template: {
      metadata: { name: 't', labels: { a: 'b', c: 'd' } },
      spec: {
        restartPolicy: 'Never',
        terminationGracePeriodSeconds: 1,
        dnsPolicy: 'Default',
        securityContext: {},
        schedulerName: 'x',
      },
    },
  }
  const job = {
    kind: 'Job',
    apiVersion: 'batch/v1',
    metadata: { ...metadata, annotations: { x: 'y' } },
    spec,
  }
  const labelled = { ...job, metadata: { ...job.metadata, labels: { a: 'b', c: 'd' } } }
  t.ok(spliced(job).equals(stored(labelled)))
})

t.test('a quantity that is no amount of a resource is not rounded', async t => {
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'a', resourceVersion: '12345' },
    spec: {
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '1500u' } }],
      containers: [],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
      enableServiceLinks: true,
    },
  }
  t.ok(spliced(pod).equals(stored(pod)))
  const overhead = { cpu: '1500u' }
  const rounded = stored({ ...pod, spec: { ...pod.spec, overhead } })
  t.match(viewed(appendProtobufView, rounded), { reason: /smaller than a thousandth/ })
})

t.test(
  'protobuf is exact where JSON of it changes nothing else, and not exact elsewhere',
  async t => {
    let exact = 0
    let notExact = 0
    for (const { apiVersion, kind, pb } of loadVectors()) {
      const type = schemaOf().findKind(apiVersion, kind)?.type
      if (type?.fields.some(field => field.type === 'meta/v1.ObjectMeta') !== true) continue
      const protobuf = viewed(appendProtobufView, pb)
      const json = viewed(appendView, pb)
      const plain = jsonFromProtobuf(pb)
      if (plain instanceof NotExact) throw new Error(plain.reason)
      const name = `${apiVersion} ${kind} ${pb.toString('base64')}`
      if (protobuf instanceof NotExact) {
        notExact++
        const isChanged =
          json instanceof NotExact || !isDeepStrictEqual(parsed(json), withVersion(parsed(plain)))
        if (!isChanged) t.fail(`${protobuf.reason}: ${name}`)
      } else {
        exact++
        const back = jsonFromProtobuf(protobuf)
        const isSame =
          !(json instanceof NotExact) &&
          !(back instanceof NotExact) &&
          isDeepStrictEqual(parsed(back), withoutKinds(parsed(json)))
        if (!isSame) t.fail(name)
      }
    }
    t.ok(exact > 100 && notExact > 100, `${exact} exact, ${notExact} not exact`)
  },
)

interface AnyObject {
  metadata: Record<string, unknown>
  spec?: { volumeClaimTemplates?: Record<string, unknown>[] }
}

function parsed(json: Uint8Array): AnyObject {
  return JSON.parse(Buffer.from(json).toString()) as AnyObject
}

function withVersion(object: AnyObject): AnyObject {
  object.metadata['resourceVersion'] = '12345'
  return object
}

/** The object without the fields that only JSON has: names on the claims of a stateful set. */
function withoutKinds(object: AnyObject): AnyObject {
  for (const claim of object.spec?.volumeClaimTemplates ?? []) {
    delete claim['kind']
    delete claim['apiVersion']
  }
  return object
}
