import t from 'tap'
import { allKeys, keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { MirroredKeyspace } from '../../../lib/cache/mirror/mirrored-keyspace.ts'
import { BTreeBuilder } from '../../../lib/store/btree-builder.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { CopyReader } from '../../../lib/workers/mirror/copy-reader.ts'
import { Encoder } from '../../../lib/workers/mirror/encoder.ts'
import { SlabNames, SlabShelf } from '../../../lib/workers/mirror/slabs.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { historyBounds } from '../../support/mirror/mirror-builders.ts'

const sink = { applied() {}, progressed() {}, reset() {}, stateChanged() {} }

function keyspace(): MirroredKeyspace {
  const description = {
    name: '/a/',
    range: prefixRange(keyFromText('/a/')),
    history: historyBounds,
  }
  return new MirroredKeyspace(description, new FakeClock(), sink)
}

t.test('a snapshot goes on when another etcd begins a history meanwhile', async t => {
  const at = revision(5)
  const builder = new BTreeBuilder<KeyValue>()
  for (const name of ['/a/1', '/a/2', '/a/3', '/a/4']) {
    const meta = { createRevision: at, modRevision: at, version: 1, lease: 0n }
    builder.add(
      new KeyValue(keyFromText(name), { bytes: Buffer.from('x'), start: 0, end: 1 }, meta),
    )
    builder.endLeaf()
  }
  const own = keyspace()
  own.restore(builder.finish(), at)
  const leaves = [...own.store.latest().leaves(allKeys)]
  const copy = keyspace()
  const ring = Buffer.alloc(64 * 1024)
  const encoder = new Encoder(new SlabNames(() => {}))
  const reader = new CopyReader(
    ring,
    { shelf: new SlabShelf(() => {}), takeRecord: () => new SharedArrayBuffer(0) },
    {
      declared: () => copy,
      dropped() {},
      showing() {},
      progressed() {},
      epochStarted() {},
      compacted() {},
    },
  )
  const tell = ({ bytes }: { readonly bytes: Uint8Array }): void => {
    ring.set(bytes)
    reader.take(0)
  }
  tell(encoder.keyspace(own, 0))
  tell(encoder.entries(own, leaves.slice(0, 1), true))
  tell(encoder.epoch(1, { number: 1, expiredThrough: revision(0) }))
  tell(encoder.entries(own, leaves.slice(1), false))
  tell(encoder.restored(own, at))
  t.equal(copy.store.latest().size, 4)
})
