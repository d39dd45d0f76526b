import { strict as assert } from 'node:assert'
import t from 'tap'
import fc from 'fast-check'
import { compileFields } from '../../../lib/codec/fields/reader.ts'
import type { FindType } from '../../../lib/codec/fields/paths.ts'
import type { Container, MessageField } from '../../../lib/codec/schema/schema.ts'
import { CacheError } from '../../../lib/base/errors.ts'

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

t.test('each form of a field is stepped over, to the byte', async t => {
  const reader = compileFields('Spec', { replicas: 'replicas', path: 'path' }, findType)
  const value = intField(4, 7n)
  const read = (...parts: Uint8Array[]): number | undefined => {
    const bytes = Buffer.concat(parts)
    // With bytes on either side that are no part of it.
    const inside = Buffer.concat([Buffer.from([0xff]), bytes, Buffer.from([0x20, 0x09])])
    if (!reader.read(inside, 1, 1 + bytes.length)) return undefined
    return reader.integer(reader.slot.replicas)
  }
  const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
  for (const right of [
    '50 01', // field 10: a varint
    '50 8080808080808080 8001', // of ten bytes
    '51 0102030405060708', // eight bytes
    '55 01020304', // four bytes
    '52 00', // a length
    '52 03 010203',
    '52 8300 010203', // in two bytes
    '52 838000 010203', // in three
    '52 8380808000 010203', // in five
    'd287808000 00', // a tag of five bytes
    '0a02 0a00',
  ]) {
    t.equal(read(hex(right), value), 7, right)
  }
  for (const [long, length] of [
    ['7f', 127],
    ['8001', 128],
    ['ff7f', 16_383],
    ['808001', 16_384],
  ] as const) {
    t.equal(read(hex(`52${long}`), Buffer.alloc(length), value), 7, `${length} bytes`)
    t.equal(read(hex(`52${long}`), Buffer.alloc(length - 1)), undefined, `${length} bytes`)
  }
  for (const wrong of [
    '50', // no value
    '50 80', // a varint that does not end
    '50 ffffffffffffffffffff01', // of eleven bytes
    '51 01020304050607',
    '55 010203',
    '52', // no length
    '52 80',
    '52 01',
    '52 8001',
    '52 838080808000 010203', // a length in six bytes
    '52 ffffffff0f', // beyond 2^31
    '53', // a group
    '54',
    '56',
    '57',
    '00 01', // field 0
    '02 00',
    '80', // a tag that does not end
    '22 01 07', // the field that is asked for, with another wire type
    '21 0102030405060708',
    '0a02 0a01', // what does not end inside one
    '0a03 0a0161 ff',
  ]) {
    t.equal(read(value, hex(wrong)), undefined, wrong)
  }
})

t.test('whole numbers are exact, however many bytes they have', async t => {
  const reader = compileFields('Spec', { replicas: 'replicas' }, findType)
  const { replicas } = reader.slot
  for (const value of [
    0n,
    1n,
    127n,
    128n,
    2n ** 28n - 1n,
    2n ** 28n,
    2n ** 31n,
    2n ** 32n,
    2n ** 35n + 5n,
    2n ** 53n,
    -1n,
    -(2n ** 31n),
    -(2n ** 53n),
  ]) {
    const bytes = intField(4, value)
    t.ok(reader.read(bytes, 0, bytes.length))
    t.equal(reader.integer(replicas), Number(value), `${value}`)
    t.equal(reader.bigint(replicas), value)
    t.equal(reader.scalarText(replicas), value === 0n ? '' : `${value}`)
  }
  t.ok(reader.read(Buffer.alloc(0), 0, 0))
  t.notOk(reader.has(replicas))
  t.equal(reader.integer(replicas), 0)
})

t.test('a path that cannot be read is refused when it is compiled', async t => {
  const many = Array.from({ length: 31 }, (_, i) => [`f${i}`, i + 1, 'string'] as const)
  const wide: FindType = type =>
    type === 'Wide'
      ? {
          fields: [...many, ['last', 4096, 'string'] as const].map(
            ([jsonName, number, fieldType]) => ({
              ...(findType('Source') as { fields: readonly [MessageField] }).fields[0],
              jsonName,
              number,
              type: fieldType,
            }),
          ),
        }
      : undefined
  const compiled = (type: string, names: readonly string[], find = findType): unknown => {
    try {
      return compileFields(type, Object.fromEntries(names.map(name => [name, name])), find).slot
    } catch (error) {
      const { code, message } = error as CacheError
      return `${code}: ${message}`
    }
  }
  const names = many.map(([name]) => name)
  t.type(compiled('Wide', names.slice(0, 30), wide), 'object')
  t.equal(compiled('Wide', names, wide), 'unsupported: 31 fields of one message are too many')
  t.equal(compiled('Wide', ['last'], wide), 'unsupported: field number 4096 is too large')
  t.equal(compiled('Spec', ['numbers']), 'unsupported: field path numbers is a list of numbers')
  for (const path of ['none', 'containers.image', 'path[0].x', 'path.x', 'metadata', '']) {
    t.equal(compiled('Spec', [path]), `unsupported: Spec has no field path ${path}`)
  }
})
