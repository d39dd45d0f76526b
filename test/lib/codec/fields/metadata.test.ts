import { strict as assert } from 'node:assert'
import t from 'tap'
import fc from 'fast-check'
import { JsonFieldReader } from '../../../../lib/codec/fields/json-reader.ts'
import { MetadataReader } from '../../../../lib/codec/fields/metadata.ts'
import { NotExact } from '../../../../lib/codec/not-exact.ts'
import { secondsFromText } from '../../../../lib/go/time-text.ts'
import { jsonFromStored } from '../../../../lib/codec/output/stored-json.ts'
import { historyBatches } from '../../../golden/load.ts'

interface DecodedMetadata {
  readonly name?: string
  readonly namespace?: string
  readonly generateName?: string
  readonly uid?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Record<string, string>
  readonly annotations?: Record<string, string>
  readonly finalizers?: string[]
  readonly ownerReferences?: Record<string, string | boolean>[]
}

t.test('the metadata of every recorded object reads as by decoding it', async t => {
  const reader = new MetadataReader()
  let count = 0
  for (const change of historyBatches().flatMap(({ changes }) => changes)) {
    if (change.type !== 'put' || !change.entry.key.startsWith('/registry/')) continue
    const json = jsonFromStored(change.entry.value)
    if (json instanceof NotExact) throw new Error(json.reason)
    const { metadata = {} } = JSON.parse(Buffer.from(json).toString()) as {
      metadata?: DecodedMetadata
    }
    assert.equal(reader.read(change.entry), undefined)
    const seconds = (text: string | undefined) => secondsFromText(text ?? '')?.seconds
    const read = [
      [reader.name, reader.namespace, reader.generateName, reader.uid, reader.generation],
      [reader.creationSeconds, reader.deletionSeconds],
      [Object.fromEntries(reader.labels()), Object.fromEntries(reader.annotations())],
      [reader.finalizers(), reader.ownerReferences()],
      Object.keys(metadata.labels ?? {}).map(key => reader.label(key)),
      Object.keys(metadata.annotations ?? {}).map(key => reader.annotation(key)),
      [reader.label('none'), reader.annotation('none')],
    ]
    const { name = '', namespace = '', generateName = '', uid = '', generation = 0 } = metadata
    const wanted = [
      [name, namespace, generateName, uid, generation],
      [seconds(metadata.creationTimestamp), seconds(metadata.deletionTimestamp)],
      [metadata.labels ?? {}, metadata.annotations ?? {}],
      [metadata.finalizers ?? [], (metadata.ownerReferences ?? []).map(owner)],
      Object.values(metadata.labels ?? {}),
      Object.values(metadata.annotations ?? {}),
      [undefined, undefined],
    ]
    assert.deepEqual(read, wanted, change.entry.key)
    count++
  }
  t.ok(count > 600, `${count} objects compared`)
})

function owner(parsed: Record<string, string | boolean>) {
  const { apiVersion, kind, name, uid, controller } = parsed
  return { apiVersion, kind, name, uid, isController: controller === true }
}

t.test('JSON without its form is read the same', async t => {
  const reader = new MetadataReader()
  const text = `
    { "metadata": { "name": "wrong" }, "other": [ "}", "\\"", { "name": 1 } ],
      "met\\u0061data" : { "name" : "\\u00e9" , "labels" : { "a\\nb" : "x", "n": 1 }, "generation" : 2.0,
        "ownerReferences": [ null, { "name": "o", "controller": true } ], "finalizers": 3 } }`
  const bytes = Buffer.from(text.trim())
  t.equal(reader.read({ bytes, start: 0, end: bytes.length }), undefined)
  t.equal(reader.name, 'é')
  t.equal(reader.generation, 2)
  t.equal(reader.label('a\nb'), 'x')
  t.equal(reader.label('n'), '')
  t.same(
    [...reader.labels()],
    [
      ['a\nb', 'x'],
      ['n', ''],
    ],
  )
  t.same(reader.finalizers(), [])
  t.equal(reader.ownerReferences()[1]?.isController, true)
  t.equal(reader.ownerReferences()[0]?.name, '')
  t.equal(reader.creationSeconds, undefined)
})

t.test('paths into any JSON find what parsing finds', async () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const { value } = fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.constantFrom(null, true, 'x', '"\\', 'é', 12, -0.5),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  }))
  const paths = fc.array(fc.array(name, { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 4,
  })
  const object = fc.dictionary(name, value, { noNullPrototype: true })
  fc.assert(
    fc.property(object, paths, fc.constantFrom(undefined, 2), (stored, wanted, indent) => {
      const bytes = Buffer.from(JSON.stringify(stored, undefined, indent))
      const reader = new JsonFieldReader(wanted)
      assert.ok(reader.readStored(bytes, 0, bytes.length))
      for (const [slot, path] of wanted.entries()) {
        const found = path.reduce<unknown>(
          (inner, key) =>
            typeof inner === 'object' && inner !== null && !Array.isArray(inner)
              ? (inner as Record<string, unknown>)[key]
              : undefined,
          stored,
        )
        assert.equal(reader.has(slot), found !== undefined)
        assert.deepEqual(reader.parsed(slot), found)
        const isScalar = ['string', 'number', 'boolean'].includes(typeof found)
        assert.equal(reader.scalarText(slot), isScalar ? String(found) : '')
      }
    }),
  )
})

t.test('mutated JSON never leads outside its window', async () => {
  const text = '{"metadata":{"labels":{"a":"b\\"","c":"d"},"name":"n"},"spec":[{"x":"}"},1.5,null]}'
  const bytes = Buffer.from(text)
  const reader = new MetadataReader()
  const change = fc.tuple(fc.nat(text.length - 1), fc.constantFrom(...Buffer.from('"{}[],:\\ 1')))
  fc.assert(
    fc.property(fc.array(change, { maxLength: 5 }), fc.nat(text.length), (changes, length) => {
      const mutated = Buffer.from(bytes)
      for (const [at, byte] of changes) mutated[at] = byte
      if (reader.read({ bytes: mutated, start: 0, end: length }) !== undefined) return
      assert.ok(reader.name.length + [...reader.labels()].join('').length <= length)
      reader.ownerReferences()
    }),
    { numRuns: 10_000 },
  )
})
