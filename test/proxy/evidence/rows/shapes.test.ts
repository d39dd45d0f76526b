import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { revision } from '../../../../lib/base/revision.ts'
import { noShape, Shapes } from '../../../../lib/proxy/evidence/rows/shapes.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { KeyValue, noLease } from '../../../../lib/store/event.ts'
import { historyBatches } from '../../../golden/load.ts'

const shapes = new Shapes()

function entryOf(bytes: Uint8Array): KeyValue {
  const meta = { createRevision: revision(1), modRevision: revision(1), version: 1, lease: noLease }
  return new KeyValue(keyFromText('/k'), { bytes, start: 0, end: bytes.length }, meta)
}

function stored(object: object): KeyValue {
  const bytes = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (bytes instanceof NotExact) throw new Error(bytes.reason)
  return entryOf(bytes)
}

const custom = (object: unknown): KeyValue => entryOf(Buffer.from(JSON.stringify(object)))

const pod = (spec: object, status: object = {}, name = 'a'): KeyValue =>
  stored({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec, status })

const container = (more: object = {}): object => ({ name: 'c', image: 'i', ...more })

/** Rows of the first that the second has not. */
function missing(a: KeyValue, b: KeyValue): number {
  const of = (entry: KeyValue): Float64Array => shapes.rowsOf(shapes.shapeOf(entry)).rows
  const theirs = new Set(of(b))
  return of(a).filter(row => !theirs.has(row)).length
}

t.test('objects that are made alike have one shape, whatever they are called', async t => {
  const a = pod({ containers: [container()], nodeName: 'x' }, {}, 'a')
  const b = pod({ containers: [container({ image: 'other' })], nodeName: 'yy' }, {}, 'bbb')
  t.equal(shapes.shapeOf(a), shapes.shapeOf(b))
  t.equal(shapes.shapeOf(a), shapes.shapeOf(a), 'it is noted')
})

t.test('what may go by another rule is another row', async t => {
  const plain = pod({ containers: [container()] })
  const rows: Record<string, KeyValue> = {
    'a field that is there': pod({ containers: [container({ stdin: true })] }),
    'a field that is there further in': pod({
      containers: [container({ ports: [{ containerPort: 1 }] })],
    }),
    'a name of the API': pod({ containers: [container()], restartPolicy: 'Never' }),
    'a text that encodings treat apart': pod({ containers: [container({ image: '<' })] }),
    'a pointer to zero': pod({ containers: [container()], terminationGracePeriodSeconds: 0 }),
  }
  for (const [what, entry] of Object.entries(rows)) {
    t.ok(missing(entry, plain) > 0, what)
    t.ok(missing(plain, entry) > 0, `${what}, and its absence`)
  }
  const limits = { cpu: '1' }
  const both = pod({ containers: [container({ resources: { limits, requests: limits } })] })
  const one = pod({ containers: [container({ resources: { limits } })] })
  t.ok(missing(one, both) > 0, 'limits without requests, which take them over')
  const ready = (zero: object): KeyValue => pod({ containers: [container()] }, zero)
  t.ok(missing(ready({ phase: 'Failed' }), ready({ phase: 'Running' })) > 0, 'another phase')
})

t.test('rows are of a path: the same message elsewhere is another', async t => {
  const spec = { containers: [container({ stdin: true })] }
  const init = { containers: [container()], initContainers: [container({ stdin: true })] }
  t.ok(missing(pod(init), pod(spec)) > 0)
})

t.test('names of the API count in their order', async t => {
  const statuses = (...reasons: string[]): KeyValue =>
    pod(
      { containers: [container()] },
      {
        containerStatuses: reasons.map(reason => ({
          name: 'c',
          state: { terminated: { reason, exitCode: 0 } },
        })),
      },
    )
  const [a, b] = [statuses('Error', 'Completed'), statuses('Completed', 'Error')]
  const orderOf = (entry: KeyValue): number => shapes.rowsOf(shapes.shapeOf(entry)).order
  t.equal(missing(a, b), 0)
  t.not(orderOf(a), orderOf(b))
  t.not(shapes.shapeOf(a), shapes.shapeOf(b))
})

t.test('custom resources have rows by the names of their members', async t => {
  const base = { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'a' } }
  const a = custom({ ...base, spec: { size: 1, mode: 'Fast' } })
  t.equal(shapes.shapeOf(a), shapes.shapeOf(custom({ ...base, spec: { size: 2, mode: 'Fast' } })))
  for (const spec of [{ size: 0, mode: 'Fast' }, { size: 1, mode: 'Slow' }, { size: 1 }, {}]) {
    t.ok(missing(custom({ ...base, spec }), a) > 0, JSON.stringify(spec))
  }
  const labelled = (labels: object): KeyValue =>
    custom({ ...base, metadata: { name: 'a', labels } })
  t.equal(shapes.shapeOf(labelled({ a: 'b' })), shapes.shapeOf(labelled({ c: 'd', e: 'f' })))
})

t.test('an object with ever new names is taken for a map', async t => {
  const own = new Shapes()
  const seen = new Set<number>()
  for (let i = 0; i < 1_000; i++) {
    const object = { apiVersion: 'x/v1', kind: 'X', spec: { [`name${i}`]: { replicas: i + 1 } } }
    seen.add(own.shapeOf(custom(object)))
  }
  t.ok(seen.size < 140, `${seen.size} shapes`)
})

t.test('what is no object has no shape', async t => {
  const bad = [
    '',
    '{',
    '{"a":1',
    '[]',
    '{"a":}',
    '{"a"1}',
    '{} x',
    'k8s:enc:x',
    'k8s\0\n',
    '{"a":tru',
  ]
  for (const text of bad) t.equal(shapes.shapeOf(entryOf(Buffer.from(text))), noShape, text)
  const deep = `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`
  t.equal(shapes.shapeOf(entryOf(Buffer.from(deep))), noShape)
  const [[first] = []] = historyBatches().map(({ changes }) => changes)
  const value = first?.type === 'put' ? first.entry.value : new Uint8Array(0)
  for (let end = 0; end < value.length; end++) shapes.shapeOf(entryOf(value.subarray(0, end)))
})

t.test('shapes of recorded objects are few, and forgotten when they are too many', async t => {
  const own = new Shapes()
  const entries = historyBatches().flatMap(({ changes }) =>
    changes.flatMap(change => (change.type === 'put' ? [change.entry] : [])),
  )
  const found = new Set(entries.map(entry => own.shapeOf(entry)))
  t.ok(found.size < entries.length, `${found.size} shapes of ${entries.length} objects`)
  const { epoch } = own
  for (let i = 0; i < 20_000; i++) own.shapeOf(custom({ kind: `A${i}` }))
  t.ok(own.epoch > epoch)
  for (const entry of entries) own.shapeOf(entry)
})
