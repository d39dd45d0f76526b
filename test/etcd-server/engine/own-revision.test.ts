import t from 'tap'
import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { OwnRevision } from '../../../lib/etcd/own-revision.ts'
import { createTestEngine } from '../../support/etcd/test-engine.ts'

t.test('what an etcd in this process says of itself is never behind what it has said', async t => {
  const ownRevision = new OwnRevision()
  const { client, engine } = createTestEngine(t, { ownRevision })
  const elsewhere = new OwnRevision(ownRevision.memory)
  t.equal(elsewhere.revision, 1, 'as etcd begins')
  engine.loadBase(revision(70), [])
  t.equal(elsewhere.revision, 70)
  const key = keyFromText('a')
  const heard: [number, number][] = []
  client.watch(
    { range: singleKey(key) },
    {
      created: () => {},
      changed: batches => {
        for (const batch of batches) heard.push([batch.revision, elsewhere.revision])
      },
      progress: () => {},
      ended: () => {},
    },
  )
  for (const value of ['one', 'two']) {
    const { header } = await client.txn({
      compares: [],
      success: [{ type: 'put', key, value: Buffer.from(value) }],
      failure: [],
    })
    t.equal(elsewhere.revision, header.revision)
  }
  await new Promise(resolve => setImmediate(resolve))
  t.same(
    heard.map(([at]) => at),
    [71, 72],
  )
  for (const [at, known] of heard) t.ok(known >= at, 'when a watcher hears of a change')
  t.equal(client.ownRevision, ownRevision)
})
