import { silentLogger } from '../../support/silent-logger.ts'
import t, { type Test } from 'tap'
import { type Key, keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { type Revision, revision } from '../../../lib/base/revision.ts'
import { type CopiesOfMirror, MemoryKeeper } from '../../../lib/cache/keepers/memory-keeper.ts'
import { KeyspaceSizes } from '../../../lib/cache/keepers/keyspace-sizes.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { caughtUp, startServed } from '../../support/http/served.ts'
import { answeredHere, configMap, originOf, startProxied } from '../../support/upstream/proxied.ts'

function entry(key: string, bytes: number, at: number): KeyValue {
  const value = { bytes: new Uint8Array(bytes), start: 0, end: bytes }
  const modRevision = revision(at)
  const meta = { createRevision: modRevision, modRevision, version: 1, lease: 0n }
  return new KeyValue(keyFromText(key), value, meta)
}

class Stage {
  readonly clock = new FakeClock()
  readonly segments = {
    bytes: 0,
    dropTo(bytes: number) {
      this.bytes = Math.min(this.bytes, bytes)
    },
  }
  readonly indexes = {
    bytes: 0,
    dropTo(bytes: number) {
      this.bytes = Math.min(this.bytes, bytes)
    },
  }
  readonly stores = new Map(
    ['/a/', '/b/'].map(name => {
      const bounds = { maxBatches: 1_000, maxAgeMs: 1e9, maxBytes: 1e9 }
      return [keyFromText(name), new Keyspace(bounds)] as const
    }),
  )
  sizes = this.#sizes(1)
  readonly dropped: string[] = []
  readonly refusals: string[] = []
  canDrop = true
  #revision = 0

  #sizes(trees: number): KeyspaceSizes {
    const storeOf = (keyspace: Key): Keyspace | undefined => this.stores.get(keyspace)
    return new KeyspaceSizes({ storeOf, trees, clock: this.clock })
  }

  keeper(budgetBytes: number, copies?: CopiesOfMirror): MemoryKeeper {
    this.sizes = this.#sizes(1 + (copies?.count ?? 0))
    const keeper = new MemoryKeeper({
      copies,
      budgetBytes,
      segments: this.segments,
      indexes: this.indexes,
      keyspaces: () => [...this.stores.keys()],
      storeOf: keyspace => this.stores.get(keyspace),
      sizes: this.sizes,
      canDrop: () => this.canDrop,
      drop: keyspace => {
        this.dropped.push(keyspace)
        this.stores.delete(keyspace)
      },
      clock: this.clock,
      logger: silentLogger,
    })
    void keeper.refused.then(({ message }) => this.refusals.push(message))
    return keeper
  }

  write(key: string, bytes: number): void {
    const keyspace = keyFromText(key.slice(0, 3))
    const at = (this.#revision = this.#revision + 1) as Revision
    const made = entry(key, bytes, at)
    const store = this.stores.get(keyspace)!
    this.sizes.applied(keyspace, store.apply(at, [{ type: 'put', entry: made }], 0))
  }
}

t.test('segments go first, then indexes, history, and the largest keyspace', async t => {
  const stage = new Stage()
  const keeper = stage.keeper(100_000)
  stage.write('/a/x', 30_000)
  stage.write('/b/x', 20_000)
  keeper.started()
  await keeper.check()
  for (let i = 0; i < 5; i++) stage.write('/b/x', 20_000)
  const { historyBytes, mirrorBytes } = keeper.figures
  t.ok(historyBytes > 100_000, 'what is replaced is in the history')
  t.ok(mirrorBytes > 50_000 && mirrorBytes < 51_000)
  stage.segments.bytes = 10_000
  stage.indexes.bytes = 10_000
  await keeper.check()
  t.equal(stage.segments.bytes, 0)
  t.equal(stage.indexes.bytes, 0)
  t.ok(keeper.figures.historyBytes < 50_000)
  t.strictSame(stage.dropped, [])
  t.equal(keeper.healthCheck.problem(), undefined)
  stage.write('/a/y', 60_000)
  await keeper.check()
  t.strictSame(stage.dropped, ['/a/'])
  t.equal(keeper.figures.historyBytes, 0)
  t.equal(keeper.figures.droppedKeyspaces, 1)
  t.strictSame(stage.refusals, [])
})

t.test('only as much of the segments goes as is over', async t => {
  const stage = new Stage()
  const keeper = stage.keeper(50_000)
  stage.write('/a/x', 30_000)
  stage.segments.bytes = 20_000
  await keeper.check()
  const { segmentBytes, historyBytes } = keeper.figures
  t.ok(segmentBytes > 15_000 && segmentBytes < 20_000)
  t.ok(historyBytes > 0)
})

t.test('copies in other threads count, are trimmed, and are told what room there is', async t => {
  const stage = new Stage()
  const trimmed: [string, number][] = []
  let roomBytes = 0
  const copies = {
    count: 4,
    trimHistory: (keyspace: string, bytes: number) => trimmed.push([keyspace, bytes]),
    hasRoom: (bytes: number) => (roomBytes = bytes),
  }
  const keeper = stage.keeper(100_000, copies)
  stage.write('/a/x', 30_000)
  const { mirrorBytes } = keeper.figures
  t.ok(mirrorBytes > 31_000 && mirrorBytes < 32_000, 'values once, entries in each tree')
  const room = (): number => 100_000 - keeper.figures.mirrorBytes - keeper.figures.historyBytes
  await keeper.check()
  t.equal(roomBytes, room())
  for (let i = 0; i < 5; i++) stage.write('/a/x', 30_000)
  await keeper.check()
  t.equal(roomBytes, room())
  t.equal(trimmed.length, 1)
  t.match(trimmed, [['/a/', Number]])
})

t.test('what cannot be let go of is refused at start, and said later', async t => {
  const stage = new Stage()
  stage.canDrop = false
  const keeper = stage.keeper(50_000)
  keeper.start()
  stage.stores.get(keyFromText('/a/'))!.restore([entry('/a/x', 100_000, 1)], revision(1))
  stage.sizes.reset(keyFromText('/a/'))
  await stage.clock.advance(1_000)
  t.match(stage.refusals, [
    '0.1 MiB are needed (mirror 0.1, history 0.0, segments 0.0, indexes 0.0), --memory-budget is 0.0 MiB',
  ])
  t.match(keeper.healthCheck.problem(), /are needed/)
  keeper.stop()
  const another = new Stage()
  another.canDrop = false
  const later = another.keeper(50_000)
  later.started()
  await later.check()
  another.stores.get(keyFromText('/a/'))!.restore([entry('/a/x', 100_000, 1)], revision(1))
  another.sizes.reset(keyFromText('/a/'))
  await later.check()
  t.strictSame(another.refusals, [])
  t.match(later.healthCheck.problem(), /are needed/)
})

async function putLarge(t: Test): Promise<void> {
  const served = await startServed(t, { budgetBytes: 100_000 })
  const value = Buffer.from('x'.repeat(200_000))
  const { header } = await served.client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText('/registry/configmaps/a/x'), value }],
    failure: [],
  })
  await caughtUp(served, header.revision)
  const late = await startServed(t, { client: served.client, budgetBytes: 100_000 })
  t.match(await late.service.refused, {
    code: 'overloaded',
    message: /^0\.2 MiB are needed \(mirror 0\.2, .*--memory-budget is 0\.1 MiB$/,
  })
}

t.test('a service that does not fit says so, with figures', putLarge)

t.test('in front of an upstream the largest resource passes', async t => {
  const value = 'x'.repeat(200_000)
  const proxied = await startProxied(t, {
    objects: [['/api/v1/namespaces/a/configmaps', configMap('x', value)]],
    service: { budgetBytes: 400_000 },
  })
  const path = '/api/v1/namespaces/a/configmaps/x'
  await answeredHere(proxied, '', 'v1', 'configmaps')
  t.equal(originOf(await proxied.get(path)), 'mirror; revision=N')
  const { client } = proxied
  const { entries } = await client.range({
    range: prefixRange(keyFromText('/registry/configmaps/')),
  })
  const copies = ['y', 'z'].map(name => ({
    type: 'put' as const,
    key: keyFromText(`/registry/configmaps/a/${name}`),
    value: entries[0]!.value,
  }))
  await client.txn({ compares: [], success: copies, failure: [] })
  let origin = ''
  while (!origin.startsWith('pass')) origin = originOf(await proxied.get(path))
  t.equal(origin, 'pass; reason=excluded')
  t.equal((await proxied.get('/api/v1/namespaces/a/configmaps')).status, 200)
})
