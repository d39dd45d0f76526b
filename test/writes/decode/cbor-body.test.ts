import { encode } from 'cborg'
import fc from 'fast-check'
import t from 'tap'
import { cborFromJson } from '../../../lib/codec/output/cbor.ts'
import { jsonFromCbor } from '../../../lib/writes/decode/cbor-body.ts'
import { DecodeError } from '../../../lib/writes/decode/typed-decoder.ts'
import { startServed, ask } from '../../support/http/served.ts'

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

t.test('what we write as CBOR is read as the same JSON', async t => {
  fc.assert(
    fc.property(fc.object({ maxDepth: 4 }), value => {
      const json = Buffer.from(JSON.stringify(plain(value)))
      const cbor = cborFromJson(json, undefined, 'tagged') as Uint8Array
      t.strictSame(JSON.parse(jsonFromCbor(cbor).toString()), JSON.parse(json.toString()))
    }),
    { numRuns: 100 },
  )
})

t.test('what another writer makes is read, too', async t => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), value => {
      t.strictSame(JSON.parse(jsonFromCbor(encode(plain(value))).toString()), plain(value))
    }),
    { numRuns: 100 },
  )
})

/** RFC 8949, 3.4.5.2: the expected encoding of bytes. */
t.test('bytes become text as their tag says', async t => {
  const bytes = 'fbefff'
  const rows = [
    [`d5 43 ${bytes}`, '"--__"'],
    [`d6 43 ${bytes}`, '"++//"'],
    [`d7 43 ${bytes}`, '"FBEFFF"'],
  ] as const
  for (const [hex, json] of rows) {
    const cbor = Buffer.from(`a16161${hex.replaceAll(' ', '')}`, 'hex')
    t.equal(jsonFromCbor(cbor).toString(), `{"a":${json}}`, hex)
  }
})

t.test('whatever comes is read or refused', async t => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), bytes => {
      try {
        JSON.parse(jsonFromCbor(bytes).toString())
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error
      }
    }),
    { numRuns: 2000 },
  )
  const refused = ['', 'bf', 'a2416101416102', '9affffffff', 'c100', 'f97e00', '0000']
  for (const hex of refused) {
    t.throws(() => jsonFromCbor(Buffer.from(hex, 'hex')), { message: /^cbor: / }, hex)
  }
})

t.test('an object can be sent as CBOR, if it is on', async t => {
  const body = encode({ metadata: { name: 'x' } })
  const request = {
    method: 'POST',
    path: '/api/v1/namespaces',
    headers: { 'Content-Type': 'application/cbor' },
    body,
  }
  const on = await startServed(t, { isWritable: true, hasCbor: true })
  const off = await startServed(t, { isWritable: true })
  const answer = await ask(on.service.port, request)
  t.equal(answer.status, 201)
  t.match(JSON.parse(answer.body.toString()), { metadata: { name: 'x' } })
  t.equal((await ask(on.service.port, { ...request, body: 'no' })).status, 400)
  t.equal((await ask(off.service.port, request)).status, 415)
})
