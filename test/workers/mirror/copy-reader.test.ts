import t from 'tap'
import { allKeys, keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { type Revision, revision } from '../../../lib/base/revision.ts'
import { MirroredKeyspace } from '../../../lib/cache/mirror/mirrored-keyspace.ts'
import { BTreeBuilder } from '../../../lib/store/btree-builder.ts'
import { type Batch, KeyValue } from '../../../lib/store/event.ts'
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

function entry(name: string, at: Revision): KeyValue {
  const meta = { createRevision: at, modRevision: at, version: 1, lease: 0n }
  return new KeyValue(keyFromText(name), { bytes: Buffer.from('x'), start: 0, end: 1 }, meta)
}

interface Told {
  readonly encoder: Encoder
  readonly copy: MirroredKeyspace
  readonly tell: (record: { readonly bytes: Uint8Array }) => void
}

/** A copy that takes records at once. */
function told(): Told {
  const copy = keyspace()
  const ring = Buffer.alloc(64 * 1024)
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
  const tell: Told['tell'] = ({ bytes }) => {
    ring.set(bytes)
    reader.take(0)
  }
  return { encoder: new Encoder(new SlabNames(() => {})), copy, tell }
}

t.test('a snapshot goes on when another etcd begins a history meanwhile', async t => {
  const at = revision(5)
  const builder = new BTreeBuilder<KeyValue>()
  for (const name of ['/a/1', '/a/2', '/a/3', '/a/4']) {
    builder.add(entry(name, at))
    builder.endLeaf()
  }
  const own = keyspace()
  own.restore(builder.finish(), at)
  const leaves = [...own.store.latest().leaves(allKeys)]
  const { encoder, copy, tell } = told()
  tell(encoder.keyspace(own, 0))
  tell(encoder.entries(own, leaves.slice(0, 1), true))
  tell(encoder.epoch(1, { number: 1, expiredThrough: revision(0) }))
  tell(encoder.entries(own, leaves.slice(1), false))
  tell(encoder.restored(own, at))
  t.equal(copy.store.latest().size, 4)
})

t.test('a large transaction is told a few changes at a time, and shown at its end', async t => {
  const names = Array.from({ length: 1_000 }, (_, i) => `/a/${1_000 + i}`)
  const own = keyspace()
  own.restore(new BTreeBuilder<KeyValue>().finish(), revision(5))
  own.apply(
    revision(6),
    names.map(name => ({ type: 'put', entry: entry(name, revision(6)) })),
  )
  const { encoder, copy, tell } = told()
  tell(encoder.keyspace(own, 0))
  tell(encoder.entries(own, [], true))
  tell(encoder.restored(own, revision(5)))
  const batch = own.store.next(revision(5)) as Batch
  const records = [0, 256, 512, 768].map(passed => encoder.changes(own, batch, passed))
  const largest = Math.max(...records.map(({ bytes }) => bytes.length))
  t.ok(largest < 64 * 256, 'no record grows with the transaction')
  for (const record of records) {
    t.equal(copy.store.revision, 5)
    t.equal(copy.store.latest().size, 0)
    tell(record)
  }
  t.equal(copy.store.revision, 6)
  t.strictSame(
    copy.store.next(revision(5)),
    batch,
    'the batch is the same, as if it had been told at once',
  )
})

t.test('a transaction that was begun is dropped with its contents', async t => {
  const own = keyspace()
  own.restore(new BTreeBuilder<KeyValue>().finish(), revision(5))
  const entries = Array.from({ length: 300 }, (_, i) => entry(`/a/${i}`, revision(6)))
  own.apply(
    revision(6),
    entries.map(one => ({ type: 'put', entry: one })),
  )
  const { encoder, copy, tell } = told()
  tell(encoder.keyspace(own, 0))
  tell(encoder.entries(own, [], true))
  tell(encoder.restored(own, revision(5)))
  const batch = own.store.next(revision(5)) as Batch
  tell(encoder.changes(own, batch, 0))
  tell(encoder.cleared(own, 'distrusted'))
  t.throws(() => tell(encoder.changes(own, batch, 256)), /no batch that goes on/)
  tell(encoder.entries(own, [], true))
  tell(encoder.restored(own, revision(5)))
  for (const passed of [0, 256]) tell(encoder.changes(own, batch, passed))
  t.equal(copy.store.latest().size, 300)
})
