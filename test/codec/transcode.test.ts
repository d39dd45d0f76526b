import t from 'tap'
import { NotExact } from '../../lib/codec/not-exact.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../lib/codec/transcode.ts'
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
