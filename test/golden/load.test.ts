import t from 'tap'
import {
  bodyBytes,
  entriesAt,
  entryAt,
  exchanges,
  frameBytes,
  historyBatches,
  meta,
  watches,
} from './load.ts'

t.test('the recordings load whole', async t => {
  t.equal(exchanges().length, 1290)
  t.equal(watches().length, 152)
  t.equal(historyBatches().length, 800)
  t.equal(historyBatches().at(-1)?.revision, meta().end_revision)
})

t.test('replaying the history gives what etcd held', async t => {
  t.equal(entriesAt(1).size, 0)
  for (const [key, entry] of entriesAt(meta().end_revision)) {
    if (entryAt(key, entry.modRevision) !== entry) t.fail(`another entry is found for ${key}`)
  }
})

t.test('bodies come as bytes, uncompressed', async t => {
  const zipped = exchanges().find(({ response }) => response.headers['content-encoding'] === 'gzip')
  t.match(bodyBytes(zipped!.response).toString('utf8', 0, 8), '{"kind":')
  const frames = watches().flatMap(({ frames: list }) => list)
  t.ok(frames.every(frame => frameBytes(frame).length > 4))
})
