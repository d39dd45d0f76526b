import assert from 'node:assert/strict'
import t from 'tap'
import { createRandom, randomInt, randomItem } from '../../../lib/base/random.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { appendProtobufView } from '../../../lib/codec/served/protobuf.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import {
  appendJson,
  jsonFromProtobuf,
  protobufFromJson,
} from '../../../lib/codec/transcode/transcode.ts'
import { appendView } from '../../../lib/codec/served/view.ts'
import { enveloped, lengthField, randomMessage, reordered, varint } from './random-messages.ts'
import { loadVectors } from './vectors.ts'
import { effort } from '../../support/effort.ts'

const kinds = schemaOf()
  .allKinds()
  .filter(({ type }) => type.hasProtobuf && type.hasTypeMeta)

function jsonOf(value: Uint8Array): Buffer {
  const json = jsonFromProtobuf(value)
  if (json instanceof NotExact) throw new Error(json.reason)
  return Buffer.from(json)
}

function protobufOf(json: Uint8Array): Buffer {
  const value = protobufFromJson(json)
  if (value instanceof NotExact) {
    throw new Error(`${value.reason} in ${Buffer.from(json).toString()}`)
  }
  return Buffer.from(value)
}

/** A seed of its own for every run, which a failure names. */
const seed = Math.floor(Math.random() * 2 ** 32)

t.test('random messages of every kind survive both ways', async t => {
  for (const [i, { apiVersion, kind, type }] of kinds.entries()) {
    for (const fullness of [0, 0.3, 0.8]) {
      const random = createRandom(seed + i)
      const message = randomMessage(type, { random, fullness, isOdd: false, room: 500 })
      const value = enveloped(apiVersion, kind, message)
      const json = jsonOf(value)
      JSON.parse(json.toString())
      const name = `${apiVersion} ${kind}, seed ${seed}`
      assert.equal(protobufOf(json).toString('hex'), value.toString('hex'), name)
    }
  }
  t.pass(`seed ${seed}`)
})

t.test('the order of fields in protobuf does not matter', async t => {
  for (const [i, { apiVersion, kind, type }] of kinds.entries()) {
    const random = createRandom(seed + i)
    const message = randomMessage(type, { random, fullness: 0.5, isOdd: false, room: 300 })
    const json = jsonOf(enveloped(apiVersion, kind, message)).toString()
    const other = jsonOf(enveloped(apiVersion, kind, reordered(type, message, random))).toString()
    assert.equal(other, json, `${kind}, seed ${seed}`)
  }
  t.pass(`seed ${seed}`)
})

t.test('another order of fields, packed numbers and repeated values mean the same', async t => {
  for (const [i, { apiVersion, kind, type }] of kinds.entries()) {
    const random = createRandom(seed + i)
    const message = randomMessage(type, { random, fullness: 0.5, isOdd: true, room: 300 })
    const json = jsonOf(enveloped(apiVersion, kind, message))
    // Written again it is in Go's form, and says the same.
    assert.equal(jsonOf(protobufOf(json)).toString(), json.toString(), `${kind}, seed ${seed}`)
  }
  t.pass(`seed ${seed}`)
})

t.test('a message that occurs again is merged, as if its bytes followed each other', async t => {
  const metadata = Buffer.from('0a0161', 'hex')
  const more = Buffer.from('1a016e5a080a016b12035d5b7b', 'hex')
  const once = lengthField(1, Buffer.concat([metadata, more]))
  const twice = Buffer.concat([lengthField(1, metadata), lengthField(1, more)])
  const pod = (fields: Buffer): string => jsonOf(enveloped('v1', 'Pod', fields)).toString()
  t.equal(pod(twice), pod(once))
  t.match(pod(twice), '"name":"a","namespace":"n","labels":{"k":"][{"}')
  // Inside an element of a list, too: two security contexts of a container.
  const contexts = Buffer.concat([
    lengthField(15, Buffer.from('1001', 'hex')),
    lengthField(15, Buffer.from('2801', 'hex')),
  ])
  const spec = lengthField(
    2,
    lengthField(2, Buffer.concat([lengthField(1, Buffer.from('c')), contexts])),
  )
  t.match(pod(spec), '"securityContext":{"privileged":true,"runAsNonRoot":true}')
})

t.test('a message that occurs again in the value of a map is merged, too', async t => {
  // A schema of which a property has a description in two places: inside `externalDocs`, which
  // occurs twice.
  const docs = [Buffer.from('0a0161', 'hex'), Buffer.from('120162', 'hex')]
  const property = (parts: Buffer[]): Buffer =>
    Buffer.concat(parts.map(part => lengthField(35, part)))
  const json = (parts: Buffer[]): string => {
    const entry = Buffer.concat([lengthField(1, Buffer.from('p')), lengthField(2, property(parts))])
    const schema = lengthField(1, lengthField(29, entry))
    const version = lengthField(
      7,
      Buffer.concat([lengthField(1, Buffer.from('v1')), lengthField(4, schema)]),
    )
    const crd = lengthField(2, version)
    return jsonOf(enveloped('apiextensions.k8s.io/v1', 'CustomResourceDefinition', crd)).toString()
  }
  t.equal(json(docs), json([Buffer.concat(docs)]))
  t.match(json(docs), '"externalDocs":{"description":"a","url":"b"}')
})

/** Ways in which bytes go wrong. */
const mutations: readonly ((bytes: Buffer, pick: (max: number) => number) => Buffer)[] = [
  (bytes, pick) => bytes.subarray(0, pick(bytes.length)),
  (bytes, pick) => {
    const copy = Buffer.from(bytes)
    const at = pick(copy.length - 1)
    copy[at] = copy[at]! ^ (1 << pick(7))
    return copy
  },
  (bytes, pick) => {
    const copy = Buffer.from(bytes)
    copy[pick(copy.length - 1)] = pick(255)
    return copy
  },
  // A length that says far too much.
  (bytes, pick) => {
    const at = pick(bytes.length)
    const huge = varint(
      randomItem({ next: () => pick(999) / 1000 }, [2 ** 31, 2 ** 32, 2 ** 40, 127, 300]),
    )
    return Buffer.concat([bytes.subarray(0, at), huge, bytes.subarray(at + 1)])
  },
  (bytes, pick) => {
    const at = pick(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(pick(at))])
  },
  (bytes, pick) => {
    const at = pick(bytes.length)
    return Buffer.concat([
      bytes.subarray(0, at),
      bytes.subarray(Math.min(bytes.length, at + 1 + pick(3))),
    ])
  },
]

const mutated = 15_000 * effort

t.test('mutated values never crash, and never take more than their size allows', async t => {
  const random = createRandom(seed)
  const pick = (max: number): number => randomInt(random, 0, Math.max(max, 0))
  const values = loadVectors()
    .map(({ pb }) => pb)
    .filter(pb => pb.length < 3000)
  const out = new ByteWriter()
  let exact = 0
  for (let i = 0; i < mutated; i++) {
    let value = randomItem(random, values)
    for (let count = 0; count <= pick(2); count++) {
      value = randomItem(random, mutations)(value, pick)
    }
    // Other objects lie around it, and must not be read.
    const start = pick(3)
    const bytes = Buffer.concat([Buffer.alloc(start, 0x0a), value, Buffer.alloc(20, 0x0a)])
    const window = { bytes, start, end: start + value.length }
    try {
      out.clear()
      if (appendJson(out, window, schemaOf()) === undefined) {
        exact++
        if (i % 4 === 0) JSON.parse(Buffer.from(out.copy()).toString())
      } else {
        assert.equal(out.length, 0)
      }
      if (i % 2 === 0) appendView(out, window, { schema: schemaOf(), resourceVersion: '1' })
      if (i % 5 === 0) {
        appendProtobufView(out, window, { schema: schemaOf(), resourceVersion: '1' })
      }
      assert.ok(out.bytes.length < 200_000 + value.length * 600, `${out.bytes.length} bytes`)
    } catch (error) {
      throw new Error(`seed ${seed}: ${value.toString('base64')}`, { cause: error })
    }
  }
  t.ok(exact > mutated / 100 && exact < mutated * 0.9, `${exact} are exact, seed ${seed}`)
})

t.test('mutated JSON never crashes, and what is accepted can be read again', async t => {
  const random = createRandom(seed)
  const pick = (max: number): number => randomInt(random, 0, Math.max(max, 0))
  const texts = loadVectors()
    .map(({ json }) => Buffer.from(json))
    .filter(json => json.length < 3000)
  let accepted = 0
  for (let i = 0; i < mutated / 5; i++) {
    const json = randomItem(random, mutations)(randomItem(random, texts), pick)
    try {
      const value = protobufFromJson(json)
      if (value instanceof NotExact) continue
      accepted++
      JSON.parse(json.toString())
      jsonOf(value)
    } catch (error) {
      throw new Error(`seed ${seed}: ${json.toString('base64')}`, { cause: error })
    }
  }
  t.ok(accepted > 100, `${accepted} are accepted, seed ${seed}`)
})

t.test('deep nesting is refused before it costs anything', async t => {
  // A schema within a schema, and raw JSON in managed fields.
  let schema: Buffer = Buffer.alloc(0)
  for (let i = 0; i < 3000; i++) schema = lengthField(28, schema)
  const validation = lengthField(1, schema)
  const crd = lengthField(
    2,
    lengthField(7, Buffer.concat([lengthField(1, Buffer.from('v1')), lengthField(4, validation)])),
  )
  t.match(jsonFromProtobuf(enveloped('apiextensions.k8s.io/v1', 'CustomResourceDefinition', crd)), {
    reason: 'messages are nested too deep',
  })
  const raw = lengthField(1, Buffer.from('['.repeat(100_000)))
  const revision = lengthField(2, raw)
  t.match(jsonFromProtobuf(enveloped('apps/v1', 'ControllerRevision', revision)), {
    reason: 'raw JSON is nested too deep',
  })
  const open = Buffer.from(
    `{"kind":"ControllerRevision","apiVersion":"apps/v1","data":${'['.repeat(100_000)}`,
  )
  t.match(protobufFromJson(open), { reason: 'JSON is nested too deep' })
})
