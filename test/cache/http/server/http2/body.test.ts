import t from 'tap'
import { RequestBody } from '../../../../../lib/cache/http/server/http2/body.ts'

t.test('small pieces that nobody reads are joined', async t => {
  let taken = 0
  const body = new RequestBody(bytes => (taken += bytes))
  const sent = Buffer.from(Array.from({ length: 9_000 }, (_, i) => i % 251))
  for (let at = 0; at < sent.length; at += 9) body.add(sent, at, at + 9)
  t.equal(body.waitingBytes, sent.length)
  body.finish()
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(piece as Buffer)
  t.ok(pieces.length <= 3, `${pieces.length} pieces`)
  t.strictSame(Buffer.concat(pieces), sent)
  t.equal(taken, sent.length)
})
