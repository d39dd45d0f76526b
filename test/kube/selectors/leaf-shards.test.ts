import { deepStrictEqual as strictSame } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Key, keyFromText, prefixRange, textFromKey } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import type { Run } from '../../../lib/codec/output/segments.ts'
import { everyField } from '../../../lib/kube/selectors/field-selector.ts'
import { compileFilter, type Selection } from '../../../lib/kube/selectors/filter.ts'
import { everyLabel } from '../../../lib/kube/selectors/label-selector.ts'
import { entriesOfShards, runsOfUids } from '../../../lib/kube/selectors/leaf-shards.ts'
import {
  parseShardSelector,
  type ShardSelector,
} from '../../../lib/kube/selectors/shard-selector.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import type { Snapshot } from '../../../lib/store/snapshot.ts'
import { builtIn, jsonEntry } from '../../support/kube/kube-builders.ts'
import { countingReader, slowReader } from '../../support/kube/slow-selectable.ts'

const keyspace = keyFromText('/registry/pods/')
const all = prefixRange(keyspace)

/** One of n parts of all hashes. */
function selectionOf(i: number, n: number, field = 'uid'): Selection & { shards: object } {
  const bound = (at: number): string =>
    `0x${(((1n << 64n) * BigInt(at)) / BigInt(n)).toString(16).padStart(16, '0')}`
  const shards = parseShardSelector(
    `shardRange(object.metadata.${field}, '${bound(i)}', '${bound(i + 1)}')`,
  )
  const resource = builtIn('pods')
  return { resource, keyspace, labels: everyLabel, fields: everyField, shards }
}

const store = new Keyspace({ maxBatches: 100, maxAgeMs: Infinity, maxBytes: Infinity })
store.restore(
  Array.from({ length: 12 }, (_, space) => space).flatMap(space =>
    Array.from({ length: 40 }, (_, i) => podIn(space, i)),
  ),
  revision(50),
)

function podIn(space: number, i: number, uid = `uid ${space} ${i}`, at = 1): KeyValue {
  const key = `/registry/pods/n${String(space).padStart(2, '0')}/p${100 + i}`
  return jsonEntry(key, { metadata: { uid } }, at)
}

function found(
  snapshot: Snapshot,
  selection: ReturnType<typeof selectionOf>,
  { range = all, makeReader = slowReader } = {},
): string[] {
  const shards = selection.shards as NonNullable<Selection['shards']>
  const entries = entriesOfShards(snapshot, range, { ...selection, shards }, makeReader)
  return [...entries].filter(one => one !== undefined).map(({ key }) => textFromKey(key))
}

function scanned(snapshot: Snapshot, selection: Selection, range = all): string[] {
  const filter = compileFilter(selection, slowReader)!
  return snapshot
    .range(range)
    .filter(entry => filter(entry) === true)
    .map(({ key }) => textFromKey(key))
}

for (const field of ['uid', 'namespace']) {
  t.test(`shards by ${field} are apart, and together everything`, async t => {
    const snapshot = store.latest()
    const from = keyFromText('/registry/pods/n03/p120')
    const until = keyFromText('/registry/pods/n07/p110')
    for (const n of [1, 2, 3, 7, 16]) {
      const together = new Set<string>()
      for (let i = 0; i < n; i++) {
        const selection = selectionOf(i, n, field)
        const keys = found(snapshot, selection)
        t.strictSame(keys, scanned(snapshot, selection), 'in the order of keys')
        t.notOk(keys.some(key => together.has(key)))
        for (const key of keys) together.add(key)
        const range = { start: from, end: until }
        t.strictSame(found(snapshot, selection, { range }), scanned(snapshot, selection, range))
      }
      t.equal(together.size, snapshot.size)
    }
  })
}

t.test('a selector of many ranges finds what a scan finds', async () => {
  const snapshot = store.latest()
  const bounds = fc.uniqueArray(fc.bigInt(0n, 1n << 64n), { minLength: 2, maxLength: 60 })
  fc.assert(
    fc.property(bounds, cuts => {
      const sorted = cuts.toSorted((a, b) => (a < b ? -1 : 1))
      const hex = (at: bigint): string => `0x${at.toString(16).padStart(16, '0')}`
      const ranges = sorted.slice(1).flatMap((end, i) => {
        const text = `shardRange(object.metadata.uid, '${hex(sorted[i]!)}', '${hex(end)}')`
        return i % 2 === 0 ? [text] : []
      })
      const selection = { ...selectionOf(0, 1), shards: parseShardSelector(ranges.join(' || ')) }
      strictSame(found(snapshot, selection), scanned(snapshot, selection))
    }),
  )
})

t.test('lists that take turns do not disturb each other', async t => {
  const snapshot = store.latest()
  const walks = [0, 1].map(i => {
    const { shards } = selectionOf(i, 2)
    const selection = { ...selectionOf(i, 2), shards: shards as ShardSelector }
    return entriesOfShards(snapshot, all, selection, slowReader)[Symbol.iterator]()
  })
  const seen: string[][] = [[], []]
  for (let open = walks.length; open > 0;) {
    open = 0
    for (const [i, walk] of walks.entries()) {
      const next = walk.next()
      if (next.done !== true) open++
      if (next.done !== true && next.value !== undefined) seen[i]!.push(textFromKey(next.value.key))
    }
  }
  t.strictSame(seen, [scanned(snapshot, selectionOf(0, 2)), scanned(snapshot, selectionOf(1, 2))])
})

t.test('an object is hashed once, and a change has one leaf hashed again', async t => {
  const before = store.latest()
  found(before, selectionOf(0, 1))
  const { makeReader, reads } = countingReader()
  for (let i = 0; i < 8; i++) found(before, selectionOf(i, 8), { makeReader })
  t.equal(reads(), 0, 'hashes are there')
  const changed = podIn(5, 7, 'another', 51)
  store.apply(revision(51), [{ type: 'put', entry: changed }], 0)
  const selection = selectionOf(1, 2)
  t.strictSame(found(store.latest(), selection, { makeReader }), scanned(store.latest(), selection))
  t.ok(reads() > 0 && reads() <= 24, `${reads()} objects were hashed again`)
  t.strictSame(found(before, selection), scanned(before, selection), 'as it was before')
})

function runsOf(
  snapshot: Snapshot,
  selection: ReturnType<typeof selectionOf>,
  { range = all, makeReader = slowReader } = {},
): Run[] {
  const { resource } = selection
  const shards = selection.shards as ShardSelector
  const runs = [...runsOfUids(snapshot, range, { resource, shards }, makeReader)]
  return runs.filter(({ from, to }) => from < to)
}

function keysOf(runs: readonly Run[]): string[] {
  return runs.flatMap(({ entries, from, to }) =>
    entries.slice(from, to).map(({ key }) => textFromKey(key)),
  )
}

t.test('the runs of a shard are what a scan finds, in every range, and are found once', async t => {
  const large = new Keyspace({ maxBatches: 100, maxAgeMs: Infinity, maxBytes: Infinity })
  const pods = Array.from({ length: 9_000 }, (_, i) => podIn(i % 10, Math.floor(i / 10)))
  large.restore(pods.sort((a, b) => (a.key < b.key ? -1 : 1)).slice(0, 8_900), revision(50))
  const snapshot = large.latest()
  t.ok(snapshot.height > 2)
  const { makeReader, reads } = countingReader()
  for (const [from, to] of [
    ['', undefined],
    ['/registry/pods/', '/registry/pods0'],
    ['/registry/pods/n03/p120', '/registry/pods/n07/p110'],
    ['/registry/pods/n03/p120', '/registry/pods/n03/p130'],
    ['/registry/pods/n08/', undefined],
    ['/registry/services/', '/registry/services0'],
  ] as const) {
    const end = to === undefined ? undefined : keyFromText(to)
    const range = { start: keyFromText(from), end }
    for (const [i, n] of [
      [0, 1],
      [1, 3],
      [9, 16],
    ] as const) {
      const selection = selectionOf(i, n)
      const runs = runsOf(snapshot, selection, { range, makeReader })
      const wanted = scanned(snapshot, selection, range)
      strictSame(keysOf(runs), wanted, `${i} of ${n} from ${from}`)
    }
  }
  const selection = selectionOf(1, 3)
  const before = reads()
  const runs = runsOf(snapshot, selection, { makeReader })
  large.apply(revision(51), [{ type: 'put', entry: podIn(5, 7, 'another', 51) }], 0)
  const after = runsOf(large.latest(), selection, { makeReader })
  strictSame(keysOf(after), scanned(large.latest(), selection))
  t.ok(reads() - before <= 24, 'one leaf was hashed again')
  t.ok(after.filter(run => !runs.includes(run)).length <= 8, 'other nodes keep their runs')
  t.ok(runsOf(snapshot, selection).every((run, i) => run === runs[i]))
})

t.test('ever other shards do not keep ever more runs', async t => {
  const [snapshot, first] = [store.latest(), selectionOf(1, 3)]
  const runs = runsOf(snapshot, first)
  t.equal(runsOf(snapshot, first)[0], runs[0])
  for (let i = 0; i < 2_000; i++) runsOf(snapshot, selectionOf(i, 2_000))
  t.not(runsOf(snapshot, first)[0], runs[0], 'they were let go')
  t.strictSame(keysOf(runsOf(snapshot, first)), keysOf(runs))
})

t.test('what cannot be read is in no shard, and in every one', async t => {
  const broken = new Keyspace({ maxBatches: 100, maxAgeMs: Infinity, maxBytes: Infinity })
  const whole = podIn(1, 1)
  const entry = new KeyValue(whole.key, { bytes: Buffer.from('k8s\0'), start: 0, end: 4 }, whole)
  broken.restore([entry], revision(50))
  for (let i = 0; i < 4; i++) t.equal(found(broken.latest(), selectionOf(i, 4)).length, 1)
  const runs = [0, 1].map(() => runsOf(broken.latest(), selectionOf(0, 4)))
  t.strictSame(keysOf(runs[0]!), [textFromKey(entry.key)])
  t.not(runs[0]![0], runs[1]![0], 'it may be read later, so it is looked at again')
})

t.test('objects without a namespace are all in one shard by it', async t => {
  const nodes = new Keyspace({ maxBatches: 100, maxAgeMs: Infinity, maxBytes: Infinity })
  const prefix = keyFromText('/registry/minions/')
  nodes.restore(
    [jsonEntry('/registry/minions/a', {}), jsonEntry('/registry/minions/b', {})],
    revision(9),
  )
  const of = (i: number): number => {
    const selection = { ...selectionOf(i, 2, 'namespace'), resource: builtIn('nodes') }
    return found(
      nodes.latest(),
      { ...selection, keyspace: prefix as Key },
      {
        range: prefixRange(prefix),
      },
    ).length
  }
  t.strictSame([of(0), of(1)], [0, 2])
})
