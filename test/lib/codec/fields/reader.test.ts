import { strict as assert } from 'node:assert'
import t from 'tap'
import fc from 'fast-check'
import { compileFields } from '../../../../lib/codec/fields/reader.ts'
import type { FindType } from '../../../../lib/codec/fields/paths.ts'
import type { Container } from '../../../../lib/codec/schema/schema.ts'
import { CacheError } from '../../../../lib/base/errors.ts'

/** name, number, type; an empty name is inline. */
const schema: Record<string, [string, number, string][]> = {
  Pod: [
    ['metadata', 1, 'Meta'],
    ['spec', 2, 'Spec'],
    ['status', 300, 'Status'],
  ],
  Meta: [
    ['name', 1, 'string'],
    ['created', 8, 'time'],
    ['labels', 11, '{}string'],
  ],
  Spec: [
    ['', 1, 'Source'],
    ['hostNetwork', 2, 'bool'],
    ['containers', 3, '[]Container'],
    ['replicas', 4, 'int64'],
    ['numbers', 5, '[]int64'],
  ],
  Source: [['path', 1, 'string']],
  Container: [
    ['image', 1, 'string'],
    ['cpu', 2, 'quantity'],
  ],
  Status: [['phase', 1, 'string']],
}
const findType: FindType = type => {
  const fields = schema[type]?.map(([jsonName, number, fieldType]) => {
    const container: Container = fieldType.startsWith('[]')
      ? 'list'
      : fieldType.startsWith('{}')
        ? 'map'
        : 'single'
    return {
      jsonName,
      number,
      container,
      type: container === 'single' ? fieldType : fieldType.slice(2),
      isOmittedWhenEmpty: true,
      isOmittedWhenZero: false,
      isPointer: false,
      isInline: jsonName === '',
      merging: {},
    }
  })
  return fields === undefined ? undefined : { fields }
}

const varint = (value: bigint): Buffer => {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  return Buffer.from([...bytes, Number(rest)])
}
const tag = (number: number, wire: number) => varint(BigInt((number << 3) | wire))
const bytesField = (number: number, ...parts: (Uint8Array | string)[]) => {
  const value = Buffer.concat(parts.map(part => Buffer.from(part)))
  return Buffer.concat([tag(number, 2), varint(BigInt(value.length)), value])
}
const intField = (number: number, value: bigint) => Buffer.concat([tag(number, 0), varint(value)])
const stored = (raw: Uint8Array) =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    bytesField(1, bytesField(1, 'v1'), bytesField(2, 'Pod')),
    bytesField(2, raw),
    bytesField(3),
    bytesField(4),
  ])

const paths = {
  name: 'metadata.name',
  created: 'metadata.created',
  labels: 'metadata.labels',
  path: 'spec.path',
  hostNetwork: 'spec.hostNetwork',
  containers: 'spec.containers',
  firstImage: 'spec.containers[0].image',
  replicas: 'spec.replicas',
  phase: 'status.phase',
  alias: 'status.phase',
}
const example = stored(
  Buffer.concat([
    bytesField(
      1,
      bytesField(1, 'web'),
      bytesField(8, intField(1, 1_700_000_000n), intField(2, 0n)),
      bytesField(11, bytesField(1, 'app'), bytesField(2, 'shop')),
    ),
    bytesField(
      2,
      bytesField(1, bytesField(1, '/data')),
      intField(2, 1n),
      bytesField(3, bytesField(1, 'a:1'), bytesField(2, bytesField(1, '250m'))),
      bytesField(3, bytesField(1, 'b:1')),
      intField(4, -5n),
    ),
    bytesField(300, bytesField(1, 'Running')),
  ]),
)

t.test('fields are read by path from a stored value', async t => {
  const reader = compileFields('Pod', paths, findType)
  const padded = Buffer.concat([Buffer.from('xx'), example, Buffer.from('yy')])
  t.ok(reader.readStored(padded, 2, 2 + example.length))
  const { slot } = reader
  t.equal(reader.text(slot.name), 'web')
  t.equal(reader.integer(slot.created), 1_700_000_000)
  t.equal(reader.text(slot.path), '/data')
  t.equal(reader.boolean(slot.hostNetwork), true)
  t.equal(reader.text(slot.firstImage), 'a:1')
  t.equal(reader.integer(slot.replicas), -5)
  t.equal(reader.bigint(slot.replicas), -5n)
  t.equal(reader.text(slot.phase), 'Running')
  t.equal(slot.alias, slot.phase)
  t.equal(reader.count(slot.labels), 1)
  t.equal(reader.count(slot.containers), 2)
})

t.test('absent fields read as zero values', async t => {
  const reader = compileFields('Pod', paths, findType)
  const empty = stored(Buffer.alloc(0))
  t.ok(reader.readStored(empty, 0, empty.length))
  const { slot } = reader
  t.notOk(reader.has(slot.name) || reader.has(slot.labels))
  t.equal(reader.text(slot.name), '')
  t.equal(reader.integer(slot.replicas), 0)
  t.equal(reader.boolean(slot.hostNetwork), false)
  t.equal(reader.count(slot.containers), 0)
})

t.test('the last of a scalar wins and messages that come twice are merged, as in Go', async t => {
  const reader = compileFields('Pod', paths, findType)
  const value = Buffer.concat([
    bytesField(300, bytesField(1, 'Pending')),
    bytesField(1, bytesField(1, 'a')),
    bytesField(300, bytesField(1, 'Failed')),
    bytesField(1, bytesField(8, intField(1, 7n))),
  ])
  t.ok(reader.read(value, 0, value.length))
  t.equal(reader.text(reader.slot.phase), 'Failed')
  t.equal(reader.text(reader.slot.name), 'a')
  t.equal(reader.integer(reader.slot.created), 7)
})

t.test('the last of equal keys of a map wins, and entries come in any order', async t => {
  const reader = compileFields('Meta', { labels: 'labels' }, findType)
  const value = Buffer.concat([
    bytesField(11, bytesField(1, 'a'), bytesField(2, 'first')),
    bytesField(11, bytesField(2, 'x'.repeat(200)), bytesField(1, 'b')),
    bytesField(11, bytesField(1, 'a'), bytesField(2, 'last')),
    bytesField(11, bytesField(1, 'empty')),
  ])
  t.ok(reader.read(value, 0, value.length))
  t.equal(reader.mapText(reader.slot.labels, Buffer.from('a')), 'last')
  t.equal(reader.mapText(reader.slot.labels, Buffer.from('c')), undefined)
  t.equal(reader.mapText(reader.slot.labels, Buffer.from('b')), 'x'.repeat(200))
  t.equal(reader.mapText(reader.slot.labels, Buffer.from('empty')), '')
})

t.test('paths that the type does not have are refused when compiling', async t => {
  for (const path of [
    'spec.nothing',
    'spec.containers.image',
    'spec.numbers',
    'metadata.labels.a',
  ]) {
    t.throws(() => compileFields('Pod', { path }, findType), CacheError, path)
  }
})

t.test('integers come through at every size', async () => {
  const reader = compileFields('Spec', { replicas: 'replicas' }, findType)
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), value => {
      const bytes = intField(4, value)
      assert.ok(reader.read(bytes, 0, bytes.length))
      assert.equal(reader.bigint(reader.slot.replicas), value)
      assert.equal(reader.integer(reader.slot.replicas), Number(value))
    }),
  )
})

t.test('malformed bytes are refused, never misread outside their window', async () => {
  const reader = compileFields('Pod', paths, findType)
  const change = fc.tuple(fc.nat(example.length - 1), fc.nat(255))
  fc.assert(
    fc.property(fc.array(change, { maxLength: 6 }), fc.nat(example.length), (changes, length) => {
      const bytes = Buffer.from(example)
      for (const [at, byte] of changes) bytes[at] = byte
      const isRead = reader.readStored(bytes, 0, length)
      for (const slot of Object.values(reader.slot)) {
        assert.ok(isRead || !reader.has(slot))
        if (slot !== reader.slot.containers && slot !== reader.slot.labels) {
          assert.ok(reader.start(slot) <= reader.end(slot) && reader.end(slot) <= length)
        }
      }
    }),
    { numRuns: 20_000 },
  )
})
