/** Bodies in protobuf of which two bytes stand for an object with four names: a body of 3 MiB would
 *  be 45 MB of JSON before its values are counted there. Options of deletes are such bodies, too,
 *  and those in CBOR have a value in each byte. */

import t from 'tap'
import { Slice } from '../../lib/base/slice.ts'
import { decodeBuiltIn } from '../../lib/writes/decode/body.ts'
import { hasMoreValues } from '../../lib/writes/decode/protobuf-size.ts'
import { jsonFromCbor } from '../../lib/writes/decode/cbor-body.ts'
import { readDeleteOptions } from '../../lib/writes/operations/delete-options-body.ts'
import type { WriteSession } from '../../lib/writes/operations/session.ts'
import { parseQuery } from '../../lib/kube/request/request.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { SlowClock } from '../support/fake-clock.ts'

const schema = schemaOf('1.36')
const type = schema.messageType('core/v1.ConfigMap')

/** A field of bytes. */
function field(number: number, bytes: Uint8Array | string): Buffer {
  const value = Buffer.from(bytes)
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left])
    bytes.push((left % 128) + 128)
  }
}

function repeated(bytes: Buffer, times: number): Buffer {
  return Buffer.alloc(bytes.length * times, bytes)
}

function bodyOf(raw: Uint8Array, kind = 'ConfigMap'): Buffer {
  const typeMeta = Buffer.concat([field(1, 'v1'), field(2, kind)])
  return Buffer.concat([Buffer.from('k8s\0'), field(1, typeMeta), field(2, raw)])
}

const kind = {
  schema,
  group: '',
  version: 'v1',
  apiVersion: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  isNamespaced: true,
  type,
  definition: undefined,
}

function decode(raw: Uint8Array): Promise<unknown> {
  const request = { body: bodyOf(raw), form: 'protobuf', fieldValidation: 'Ignore' } as const
  return decodeBuiltIn(kind, request, new Slice(new SlowClock()))
}

const none = Buffer.alloc(0)
const name = field(1, field(1, 'a'))

t.test('a message of too many values is refused before anything is made of it', async t => {
  const rows: readonly (readonly [what: string, raw: Buffer])[] = [
    ['the same member again and again', repeated(field(1, none), 250_000)],
    ['entries of a map', Buffer.concat([name, repeated(field(2, none), 250_000)])],
    ['owners', field(1, repeated(field(13, none), 50_000))],
    ['members that nobody knows', Buffer.concat([name, repeated(field(99, none), 250_000)])],
  ]
  for (const [what, raw] of rows) {
    await t.rejects(decode(raw), { message: /more than 200000 names and values/ }, what)
  }
})

t.test('so are options of a delete', async t => {
  const options = (raw: Uint8Array): Promise<unknown> => {
    const session = { kind, slice: new Slice(new SlowClock()) } as unknown as WriteSession
    const contentType = 'application/vnd.kubernetes.protobuf'
    const body = bodyOf(raw, 'DeleteOptions')
    return readDeleteOptions(session, { query: parseQuery(''), contentType, body })
  }
  const rows: readonly (readonly [what: string, raw: Buffer])[] = [
    ['preconditions', repeated(field(2, none), 250_000)],
    ['dry runs', repeated(field(5, none), 250_000)],
  ]
  for (const [what, raw] of rows) {
    await t.rejects(options(raw), { message: /more than 200000 names and values/ }, what)
  }
  const few = Buffer.concat([field(4, 'Background'), field(5, 'All')])
  t.match(await options(few), { propagationPolicy: 'Background' })
})

t.test('a body in CBOR is refused at the value that is one too many', t => {
  const listOf = (count: number): Buffer => {
    const head = Buffer.from([0x9a, 0, 0, 0, 0])
    head.writeUInt32BE(count, 1)
    return Buffer.concat([head, Buffer.alloc(count, 0x60)])
  }
  const refusal = { message: /more than 200000 names and values/ }
  t.throws(() => jsonFromCbor(listOf(250_000)), refusal)
  // What comes after it is not looked at.
  t.throws(() => jsonFromCbor(listOf(250_000).fill(0xff, 240_000)), refusal)
  t.equal(jsonFromCbor(listOf(199_999)).length, 199_999 * 3 + 1)
  t.end()
})

t.test('values of real objects are counted as JSON counts them, or less', async t => {
  const entry = Buffer.concat([field(1, 'key'), field(2, 'value')])
  const raw = Buffer.concat([name, repeated(field(2, entry), 100)])
  const window = { bytes: raw, start: 0, end: raw.length }
  t.notOk(hasMoreValues(type, window, 200))
  t.ok(hasMoreValues(type, window, 99))
  await t.resolves(decode(raw))
})

t.test('lengths beyond the end, and depths, end the count', async t => {
  const definition = schema.messageType('apiextensions/v1.JSONSchemaProps')
  let deep: Buffer = none
  for (let i = 0; i < 3_000; i++) deep = field(18, deep)
  t.notOk(hasMoreValues(definition, { bytes: deep, start: 0, end: deep.length }, 1e6))
  const wrong = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])
  t.notOk(hasMoreValues(type, { bytes: wrong, start: 0, end: wrong.length }, 10))
})
