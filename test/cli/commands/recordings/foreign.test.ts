/** Recordings of other tools: what they hold is what is loaded, and what is written is read
 *  again. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { keyFromText, textFromKey } from '../../../../lib/base/keys.ts'
import { revision } from '../../../../lib/base/revision.ts'
import {
  pack,
  type Packed,
  PackedMap,
  packedMap,
  unpack,
} from '../../../../lib/simulator/recordings/msgpack.ts'
import { jsonFromStored, protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import {
  createForeignWriter,
  type ForeignFormat,
} from '../../../../lib/cli/commands/recordings/foreign.ts'
import {
  type RecordedChanges,
  readRecording,
} from '../../../../lib/cli/commands/recordings/recording.ts'
import { type Change, KeyValue } from '../../../../lib/store/event.ts'

interface Shown {
  readonly metadata: {
    readonly uid: string
    readonly creationTimestamp: string
    readonly finalizers?: readonly string[]
  }
  readonly spec: {
    readonly replicas?: number
    readonly strategy?: { readonly type?: string }
    readonly renewTime?: string
  }
  readonly status?: object
}

interface Read {
  readonly steps: readonly RecordedChanges[]
  readonly leftOut: readonly string[]
  /** Objects at the end, by their keys. */
  readonly objects: ReadonlyMap<string, Shown>
}

async function read(path: string): Promise<Read> {
  const steps: RecordedChanges[] = []
  const leftOut: string[] = []
  const objects = new Map<string, Shown>()
  const noted = (reason: string, count: number): unknown => leftOut.push(`${count} ${reason}`)
  for await (const step of readRecording(path, noted)) {
    steps.push(step)
    for (const change of step.changes) {
      if (change.type === 'delete') objects.delete(textFromKey(change.key))
      else objects.set(textFromKey(change.entry.key), objectOf(change.entry))
    }
  }
  return { steps, leftOut, objects }
}

function objectOf({ value }: KeyValue): Shown {
  return JSON.parse(Buffer.from(jsonFromStored(value) as Uint8Array).toString()) as Shown
}

/** The object that a change stores. */
function objectPut(change: Change | undefined): Shown {
  if (change?.type !== 'put') throw new Error('nothing is stored')
  return objectOf(change.entry)
}

function file(t: Test, name: string, contents: string | Buffer): string {
  const path = join(t.testdir(), name)
  writeFileSync(path, contents)
  return path
}

const deployment = (replicas: number, rest: object = {}): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', annotations: {} },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'a', image: 'nginx' }] },
    },
  },
  ...rest,
})

const packed = (value: unknown): Packed =>
  Array.isArray(value)
    ? value.map(packed)
    : typeof value === 'object' && value !== null
      ? packedMap(Object.fromEntries(Object.entries(value).map(([k, v]) => [k, packed(v)])))
      : (value as Packed)

interface Trace {
  readonly version?: number
  readonly events: unknown
}

function trace({ version = 2, events }: Trace): Buffer {
  return pack(packed({ version, config: {}, events, index: {}, pod_lifecycles: {} }))
}

const event = (
  ts: number,
  applied: readonly object[],
  deleted: readonly object[] = [],
): object => ({
  ts,
  applied_objs: applied,
  deleted_objs: deleted,
})

t.test('a trace of SimKube is a base and changes, with the namespaces that it needs', async t => {
  const other = { apiVersion: 'batch.volcano.sh/v1alpha1', kind: 'Job', metadata: { name: 'x' } }
  const path = file(
    t,
    'a.sktrace',
    trace({
      events: [
        event(1_700_000_000, [deployment(1), other]),
        event(1_700_000_060, [deployment(3), other]),
        event(1_700_000_120, [], [deployment(3), { ...deployment(1), metadata: { name: 'y' } }]),
      ],
    }),
  )
  const { steps, leftOut, objects } = await read(path)
  t.strictSame(
    steps.map(({ isBase, timeMs, changes }) => [isBase, timeMs, changes.length]),
    [
      [true, undefined, 2],
      [false, 1_700_000_060_000, 1],
      [false, 1_700_000_120_000, 1],
    ],
  )
  const [first, second] = steps.map(({ changes }) => changes.at(-1))
  const [before, after] = [objectPut(first), objectPut(second)]
  t.match(before.metadata, { generation: 1, creationTimestamp: '2023-11-14T22:13:20Z' })
  t.match(after.metadata, { ...before.metadata, generation: 2 }, 'it is the same object')
  t.equal(after.spec.replicas, 3)
  t.equal(after.spec.strategy?.type, 'RollingUpdate', 'with the defaults of a stored one')
  t.strictSame([...objects.keys()], ['/registry/namespaces/shop'])
  t.strictSame(leftOut, [
    '2 the kind Job of batch.volcano.sh/v1alpha1 is not known',
    '1 an object of the kind Deployment has no name or namespace',
  ])
})

const wrongTraces: readonly (readonly [Buffer, RegExp])[] = [
  [trace({ version: 1, events: [] }), /a trace of version 1 is not read, only version 2$/],
  [pack(packed({ events: [] })), /a trace without a version is not read/],
  [trace({ events: 1 }), /it has no list of events$/],
  [trace({ events: [{ ts: 1 }] }), /event 0 has no list applied_objs$/],
  [trace({ events: [{ applied_objs: [] }] }), /event 0 has no time$/],
  [trace({ events: [event(1, [1 as never])] }), /event 0 has something in applied_objs/],
  [trace({ events: [] }).subarray(0, 20), /it ends in the middle of a value$/],
]

t.test('what is no trace is refused with the reason', async t => {
  for (const [bytes, message] of wrongTraces) {
    await t.rejects(read(file(t, 'a.sktrace', bytes)), { code: 'invalid_request', message })
  }
})

/** As kwokctl writes it. */
const kwok = `apiVersion: v1
kind: Namespace
metadata:
  creationTimestamp: $(time-offset-nanosecond -5250000000)
  name: shop
  uid: 11111111-1111-4111-8111-111111111111
spec:
  finalizers:
  - kubernetes
status:
  phase: Active
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
durationNanosecond: 1000000000
kind: ResourcePatch
method: create
resource:
  resource: pods
  version: v1
target:
  name: one
  namespace: shop
template:
  apiVersion: v1
  kind: Pod
  metadata:
    creationTimestamp: $(time-offset-nanosecond 750000000)
    name: one
    namespace: shop
    uid: 22222222-2222-4222-8222-222222222222
  spec:
    containers:
    - image: a
      name: a
    - image: b
      name: b
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
durationNanosecond: 3000000000
kind: ResourcePatch
method: patch
resource:
  resource: pods
  version: v1
target:
  name: one
  namespace: shop
template:
  metadata:
    labels:
      done: "yes"
  spec:
    $setElementOrder/containers:
    - name: a
    - name: b
    containers:
    - image: c
      name: b
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
durationNanosecond: 2000000000
kind: ResourcePatch
method: create
resource:
  group: coordination.k8s.io
  resource: leases
  version: v1
target:
  name: lease
  namespace: shop
template:
  apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata:
    name: lease
    namespace: shop
  spec:
    renewTime: $(time-offset-nanosecond 1999999000)
---
apiVersion: action.kwok.x-k8s.io/v1alpha1
durationNanosecond: 4000000000
kind: ResourcePatch
method: delete
resource:
  group: coordination.k8s.io
  resource: leases
  version: v1
target:
  name: lease
  namespace: shop
`

t.test('a recording of kwokctl is its objects, and its patches in the order of time', async t => {
  const { steps, leftOut, objects } = await read(file(t, 'a.yaml', kwok))
  t.strictSame(leftOut, [])
  t.strictSame([...objects.keys()], ['/registry/namespaces/shop', '/registry/pods/shop/one'])
  const pod = objects.get('/registry/pods/shop/one')!
  t.match(pod, {
    metadata: { labels: { done: 'yes' } },
    spec: { containers: [{ image: 'a' }, { image: 'c' }] },
  })
  t.match(pod.metadata.uid, /^2222/)
  const [base, ...changes] = steps
  t.equal(base?.isBase, true)
  const times = changes.map(({ timeMs = 0 }) => timeMs)
  t.strictSame(
    times.map(time => time - times[0]!),
    [0, 1000, 2000, 3000],
  )
  const lease = objectPut(changes[1]?.changes[0])
  // It began at a quarter of a second, as the times of objects at whole seconds tell.
  t.match(lease.spec.renewTime, /\.249999Z$/)
  const made = Date.parse(pod.metadata.creationTimestamp)
  t.equal(
    made - Date.parse(objects.get('/registry/namespaces/shop')!.metadata.creationTimestamp),
    6000,
  )
  t.equal(times[0]! - made, 250)
})

t.test('objects in YAML are a recording that nothing follows', async t => {
  const list = `# of kubectl get -o yaml\n---\napiVersion: v1\nkind: List\nitems:\n- ${JSON.stringify(deployment(2))}\n`
  const { steps, objects } = await read(file(t, 'a.yaml', list))
  t.equal(steps.length, 1)
  t.equal(objects.get('/registry/deployments/shop/web')?.spec.replicas, 2)
})

t.test('objects of a definition in the recording are loaded', async t => {
  const name = { plural: 'toys', singular: 'toy', kind: 'Toy', listKind: 'ToyList' }
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'toys.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: name,
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
        },
      ],
    },
    status: {
      acceptedNames: name,
      storedVersions: ['v1'],
      conditions: ['NamesAccepted', 'Established'].map(type => ({ type, status: 'True' })),
    },
  }
  const toy = {
    apiVersion: 'example.com/v1',
    kind: 'Toy',
    metadata: { name: 'ball', namespace: 'shop' },
    size: 1,
  }
  const patch = {
    apiVersion: 'action.kwok.x-k8s.io/v1alpha1',
    kind: 'ResourcePatch',
    durationNanosecond: 1,
    method: 'patch',
    resource: { group: 'example.com', version: 'v1', resource: 'toys' },
    target: { name: 'ball', namespace: 'shop' },
    template: { size: 2 },
  }
  const documents = [definition, toy, patch].map(one => `kind: ${one.kind}\n${yamlOf(one)}`)
  const { objects, leftOut } = await read(file(t, 'a.yaml', documents.join('---\n')))
  t.strictSame(leftOut, [])
  t.match(objects.get('/registry/example.com/toys/shop/ball'), { size: 2, kind: 'Toy' })
})

/** The other members, each on a line. */
function yamlOf(object: object): string {
  const members = Object.entries(object).filter(([name]) => name !== 'kind')
  return members.map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`).join('')
}

const head = 'apiVersion: action.kwok.x-k8s.io/v1alpha1\nkind: ResourcePatch\n'
const pod = 'resource: {version: v1, resource: pods}\ntarget: {name: a, namespace: b}\n'

const wrongKwok: readonly (readonly [string, RegExp])[] = [
  ['kind: {', /a\.yaml: the document from line 1 on is no YAML: .* at line 1, column \d+$/],
  [`kind: ${'['.repeat(1e5)}`, /is no YAML: it nests deeper than 500 levels$/],
  [
    'kind: Pod\napiVersion: v1\nmetadata: &m {name: a, namespace: b, labels: *m}\n',
    /is no YAML: an alias leads back to what it is in$/,
  ],
  [
    `a: &a [x]\n${Array.from({ length: 9 }, (_, i) => `b${i}: &b${i} [${`*${i === 0 ? 'a' : `b${i - 1}`},`.repeat(10)}]\n`).join('')}`,
    /is no YAML: Excessive alias count/,
  ],
  ['kind: Pod\n---\n- 1\n', /a\.yaml: the document from line 3 on is no object$/],
  [head, /a ResourcePatch has no durationNanosecond$/],
  [`${head}durationNanosecond: 1\n${pod}method: put\n`, /a ResourcePatch has the method "put"$/],
  [
    `kind: Pod\napiVersion: v1\nmetadata: {name: a, namespace: b}\n---\n${head}durationNanosecond: 1\n${pod}method: patch\ntemplate: {$patch: odd}\n`,
    /a patch of pods b\/a cannot be applied: /,
  ],
  [
    `kind: Pod\napiVersion: v1\nmetadata: {name: a, namespace: b}\n---\n${head}durationNanosecond: 1\n${pod}method: patch\ntemplate: {x: &x [${'1,'.repeat(2_001)}], y: [${'*x,'.repeat(99)}]}\n`,
    /a patch of pods b\/a cannot be applied: .*the body has more than 200000 names and values/,
  ],
]

t.test('changes of what is not there, and of what is not known, are left out', async t => {
  const change = (method: string, of = pod): string =>
    `---\n${head}durationNanosecond: 1\n${of}method: ${method}\n`
  const unknown = 'resource: {version: v1, resource: toys}\ntarget: {name: a}\n'
  const text = `kind: Node\napiVersion: v1\n${change('patch')}${change('delete')}${change('delete', unknown)}`
  const { steps, leftOut } = await read(file(t, 'a.yaml', text))
  t.strictSame(steps, [])
  t.strictSame(leftOut, [
    '1 an object of the kind Node has no name or namespace',
    '1 a patch of pods finds no object',
    '1 the resource toys of v1 is not known',
  ])
})

t.test('what is no recording of kwokctl is refused with the reason', async t => {
  for (const [text, message] of wrongKwok) {
    await t.rejects(read(file(t, 'a.yaml', text)), { code: 'invalid_request', message })
  }
})

let revisions = 1

function put(object: object, key: string): Change {
  const json = Buffer.from(JSON.stringify(object))
  const bytes = protobufFromJson(json) as Uint8Array
  revisions++
  const at = revision(revisions)
  const meta = { createRevision: at, modRevision: at, version: 1, lease: 0n }
  return {
    type: 'put',
    entry: new KeyValue(keyFromText(key), { bytes, start: 0, end: bytes.length }, meta),
  }
}

const webKey = '/registry/deployments/shop/web'
const podKey = '/registry/pods/shop/web-1'
const created = {
  creationTimestamp: '2026-01-01T00:00:00Z',
  uid: '11111111-1111-4111-8111-111111111111',
}
const stored = (
  replicas: number,
  containers: readonly object[],
  finalizers: readonly string[],
): object => ({
  ...deployment(replicas),
  metadata: { name: 'web', namespace: 'shop', ...created, finalizers },
  spec: {
    replicas,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers } },
    strategy: {},
  },
})
const owned = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web-1',
    namespace: 'shop',
    ...created,
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u' }],
  },
  spec: { containers: [{ name: 'a', image: 'nginx' }] },
  status: {},
}
/** The time is stored as one that is not set. */
const running = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null }],
}
const [a, b] = [
  { name: 'a', image: 'nginx', resources: {} },
  { name: 'b', image: 'x', resources: {} },
]

async function write(t: Test, format: ForeignFormat, name: string): Promise<string> {
  const path = join(t.testdir(), name)
  let nowMs = Date.parse('2026-01-01T01:00:00.250Z')
  const writer = await createForeignWriter(format, path, () => nowMs)
  const later = async (...changes: readonly Change[]): Promise<void> => {
    nowMs += 1000
    await writer.write({ revision: revision(revisions), changes })
  }
  const base = put(stored(1, [a, b], ['x.io/a', 'x.io/b']), webKey) as Change & { type: 'put' }
  await writer.writeBase(revision(revisions), [base.entry])
  const other = put(
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'shop', ...created } },
    '/registry/configmaps/shop/c',
  )
  await writer.writeBase(revision(revisions), [(other as typeof base).entry])
  await later(put(stored(4, [{ ...b, image: 'y' }, a], ['x.io/b', 'x.io/c']), webKey))
  await later(
    put({ ...stored(4, [{ ...b, image: 'y' }, a], ['x.io/b']), status: { replicas: 4 } }, webKey),
    put(owned, podKey),
  )
  await later(put({ ...owned, status: running }, podKey))
  await later({ type: 'delete', key: keyFromText(podKey) })
  await later(put({ ...owned, metadata: { ...owned.metadata, ownerReferences: [] } }, podKey))
  await writer.close()
  return path
}

t.test('what is written for kwok is read as what there was', async t => {
  for (const name of ['a.yaml', 'a.yaml.gz']) {
    const path = await write(t, 'kwok', name)
    const { steps, leftOut, objects } = await read(path)
    t.strictSame(leftOut, [])
    t.equal(steps.length, 7, 'a base, and six changes')
    const web = objects.get(webKey)!
    t.match(web, {
      spec: {
        replicas: 4,
        template: { spec: { containers: [{ name: 'b', image: 'y' }, { name: 'a' }] } },
      },
    })
    t.strictSame(web.metadata.finalizers, ['x.io/b'])
    t.match(web.status, { replicas: 4 })
    t.ok(objects.has('/registry/configmaps/shop/c'))
    t.ok(objects.has(podKey))
    if (name.endsWith('.gz')) continue
    const text = readFileSync(path, 'utf8')
    t.match(text, /creationTimestamp: \S?\$\(time-offset-nanosecond -3600250000000\)/)
    t.match(text, /durationNanosecond: 1000000000\nresource|method: patch/)
    t.match(text, /\$deleteFromPrimitiveList\/finalizers/)
    t.notMatch(text, /\$patch: replace/, 'small patches do')
  }
})

t.test('an object that is larger than any write is written whole for kwok', async t => {
  const path = join(t.testdir(), 'a.yaml')
  const writer = await createForeignWriter('kwok', path, () => 0)
  // 200,000 names and values are the most.
  const containers = [{ name: 'c', args: Array.from({ length: 200_001 }, () => 'x') }]
  const large = (last: string): Change & { type: 'put' } => {
    const metadata = { name: 'large', namespace: 'shop', labels: { last }, ...created }
    const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers } }
    return put(object, '/registry/pods/shop/large') as Change & { type: 'put' }
  }
  await writer.writeBase(revision(revisions), [large('a').entry])
  await writer.write({ revision: revision(revisions), changes: [large('b')] })
  await writer.close()
  const text = readFileSync(path, 'utf8')
  t.match(text.slice(text.indexOf('---')), /method: patch\n[^]*\$patch: replace/)
})

t.test('an object with a field that is not known is written whole for kwok', async t => {
  const path = join(t.testdir(), 'a.yaml')
  const writer = await createForeignWriter('kwok', path, () => 0)
  const stored = (value: string): Change & { type: 'put' } => {
    const metadata = { name: 'new', namespace: 'shop', ...created }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, later: { value } }
    const bytes = Buffer.from(JSON.stringify(object))
    revisions++
    const at = revision(revisions)
    const meta = { createRevision: at, modRevision: at, version: 1, lease: 0n }
    const key = keyFromText('/registry/configmaps/shop/new')
    return { type: 'put', entry: new KeyValue(key, { bytes, start: 0, end: bytes.length }, meta) }
  }
  await writer.writeBase(revision(revisions), [stored('a').entry])
  await writer.write({ revision: revision(revisions), changes: [stored('b')] })
  await writer.close()
  const text = readFileSync(path, 'utf8')
  t.match(text.slice(text.indexOf('---')), /method: patch\n[^]*\$patch: replace\n[^]*value: b/)
})

interface WrittenTrace {
  readonly version: number
  readonly index: object
  readonly events: readonly {
    readonly ts: number
    readonly applied_objs: readonly Shown[]
    readonly deleted_objs: readonly Shown[]
  }[]
}

function plainOf(value: Packed): unknown {
  if (Array.isArray(value)) return (value as readonly Packed[]).map(plainOf)
  if (!(value instanceof PackedMap)) return value
  return Object.fromEntries(value.entries.map(([name, one]) => [name as string, plainOf(one)]))
}

t.test('what is written for SimKube is a trace of its version', async t => {
  const path = await write(t, 'simkube', 'a.sktrace')
  const { steps, objects } = await read(path)
  t.equal(steps[0]?.isBase, true)
  t.strictSame([...objects.keys()].toSorted(), [webKey, '/registry/namespaces/shop', podKey])
  t.equal(objects.get(webKey)?.spec.replicas, 4)
  const written = unpack(readFileSync(path))
  t.strictSame(pack(written).length, readFileSync(path).length - 8, 'two lengths have four bytes')
  const lives = written instanceof PackedMap ? written.get('pod_lifecycles') : undefined
  t.strictSame(lives, new PackedMap([]), 'no container of it has started')
  const { version, events, index } = plainOf(written) as WrittenTrace
  t.equal(version, 2)
  const counts = events.map(({ applied_objs: applied, deleted_objs: deleted }) => [
    applied.length,
    deleted.length,
  ])
  // The status alone, and pods that a replica set has made, are not in a trace.
  t.strictSame(counts, [
    [1, 0],
    [1, 0],
    [1, 0],
  ])
  t.strictSame(Object.keys(events[0]?.applied_objs[0]?.metadata ?? {}).toSorted(), [
    'annotations',
    'finalizers',
    'name',
    'namespace',
  ])
  t.equal(events[0]?.ts, Date.parse('2026-01-01T01:00:00Z') / 1000)
  t.strictSame(Object.keys(index).toSorted(), ['apps/v1.Deployment', 'v1.Pod'])
  await t.rejects(
    createForeignWriter('simkube', join(t.testdir(), 'a.gz'), () => 0),
    {
      message: /reads no trace that is compressed/,
    },
  )
})
