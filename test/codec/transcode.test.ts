import t from 'tap'
import { NotExact } from '../../lib/codec/not-exact.ts'
import { jsonFromProtobuf } from '../../lib/codec/transcode.ts'
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
