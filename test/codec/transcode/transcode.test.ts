import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { loadVectors } from './vectors.ts'

const vectors = loadVectors()

t.test('every vector becomes the JSON that Go makes of it', async t => {
  t.ok(vectors.length > 1000)
  const kinds = new Set<string>()
  for (const { apiVersion, kind, pb, json } of vectors) {
    const made = jsonFromProtobuf(pb)
    const text = made instanceof NotExact ? made.reason : Buffer.from(made).toString()
    if (text !== json) t.equal(text, json, `${apiVersion} ${kind}`)
    kinds.add(`${apiVersion} ${kind}`)
  }
  t.equal(kinds.size, 345)
})

t.test('the JSON of every vector becomes the protobuf that Go makes of it', async t => {
  for (const { apiVersion, kind, json, pb2 } of vectors) {
    const made = protobufFromJson(Buffer.from(json))
    const text = made instanceof NotExact ? made.reason : Buffer.from(made).toString('hex')
    if (text !== pb2.toString('hex')) t.equal(text, pb2.toString('hex'), `${apiVersion} ${kind}`)
  }
})

t.test('an object that does not say what it is cannot be encoded, and is told so', async t => {
  const reasonOf = (text: string): unknown => {
    const encoded = protobufFromJson(Buffer.from(text))
    return encoded instanceof NotExact ? encoded.reason : encoded
  }
  const nameless = 'object has no kind or no apiVersion'
  t.equal(reasonOf('{"metadata":{"name":"x"}}'), nameless)
  t.equal(reasonOf('{"kind":"Pod"}'), nameless)
  t.equal(
    reasonOf('{"kind":"W","apiVersion":"example.com/v1"}'),
    'no schema of the kind of the object',
  )
  t.ok(reasonOf('{"type":"ADDED","object":{}}') instanceof Uint8Array, 'but for watch events')
})
