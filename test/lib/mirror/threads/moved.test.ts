/** A copy in the same thread, whose records and messages arrive at once. */

import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { MirrorSet } from '../../../../lib/mirror/mirror-set.ts'
import { noMetrics } from '../../../../lib/mirror/metrics.ts'
import { FaceMirrors } from '../../../../lib/mirror/threads/face-mirrors.ts'
import { Keeper, type FedThread } from '../../../../lib/mirror/threads/keeper.ts'
import { RemoteClients } from '../../../../lib/mirror/threads/remote-client.ts'
import { createRingMemory, RingReader, RingWriter } from '../../../../lib/mirror/threads/ring.ts'
import { SlabShelf } from '../../../../lib/mirror/threads/slabs.ts'
import { defaultLimits } from '../../../../lib/mirror/limits.ts'
import { TinyEtcd } from '../../../support/etcd/tiny-etcd.ts'
import {
  createReadyFixture,
  entriesOf,
  historyBounds,
  RecordingSink,
} from '../../../support/mirror/mirror-builders.ts'

t.test('a value that is moved is moved in the copies, unless the entry has changed', async t => {
  const etcd = new TinyEtcd()
  etcd.write({ '/r/a/1': 'one' })
  const { mirror, clock } = await createReadyFixture({ etcd, keyspaces: ['a'] })
  const mirrors = new MirrorSet([mirror])
  const keeper = new Keeper({
    mirrors,
    clients: [],
    keyspaceOf: () => 'a',
    clock,
    readWaitMaxMs: 3000,
  })
  const memory = createRingMemory(65_536)
  const shelf = new SlabShelf(() => {})
  let fed: FedThread | undefined = undefined
  const ask = (question: Parameters<FedThread['ask']>[0]): void => fed?.ask(question)
  const copies = new FaceMirrors({
    layout: keeper.layout,
    shown: keeper.shown,
    ring: new RingReader(memory),
    shelf,
    takeRecord: () => memory,
    ask,
    clients: new RemoteClients(ask),
    clock,
    limits: defaultLimits,
    metrics: noMetrics,
    sink: new RecordingSink(),
    history: historyBounds,
  })
  fed = keeper.attach({
    ring: new RingWriter(memory),
    sendSlab: (id, slab) => shelf.add(id, slab),
    sendRecord: () => {},
    wake: () => void copies.readRing(),
    send: answer => copies.answered(answer),
  })
  copies.start()
  await clock.advance(0)
  const key = keyFromText('/r/a/1')
  const [own, copy] = [mirror.keyspace('a'), copies.keyspace('a')].map(({ store }) =>
    store.latest().get(key),
  )
  t.equal(Buffer.from(copy!.value).toString(), 'one')
  const shared = Buffer.from(new SharedArrayBuffer(16))
  shared.write('xxone', 0)
  own!.move({ bytes: shared, start: 2, end: 5 })
  keeper.moved(own!)
  await clock.advance(0)
  t.equal(copy!.bytes.buffer, shared.buffer, 'the copy has the same place')
  t.equal(Buffer.from(copy!.value).toString(), 'one')
  const entries = entriesOf(copies.keyspace('a').store.latest())
  own!.move({ bytes: Buffer.from('two'), start: 0, end: 3 })
  etcd.put({ '/r/a/1': 'new' })
  keeper.moved(own!)
  await clock.advance(0)
  t.same(
    [entries, entriesOf(copies.keyspace('a').store.latest())],
    [['/r/a/1=one'], ['/r/a/1=new']],
  )
  fed.end()
})
