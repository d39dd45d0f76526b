import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../../lib/base/random.ts'
import { knownRevision } from '../../../lib/base/revision.ts'
import { EntryMaker } from '../../../lib/etcd-server/engine/entry-maker.ts'
import { Base } from '../../../lib/etcd-server/engine/value-difference.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { shareSlabs, SlabWriter, slabBytes } from '../../../lib/store/slab.ts'
import { packSlabs } from '../../../lib/store/slab-packer.ts'

const random = createRandom(20_261_124)

function textOf(random: Random, length: number): string {
  return Array.from({ length }, () => randomInt(random, 0, 36).toString(36)).join('')
}

/** A kind of object: those of one differ in a name and in an id. */
function template(): (name: string) => Buffer {
  const [head, tail] = [textOf(random, 1_000), textOf(random, 2_000)]
  return name => Buffer.from(`${head}${name}${textOf(random, 40)}${tail}`)
}

const at = (n: number) => ({
  createRevision: knownRevision(n),
  modRevision: knownRevision(n),
  version: 1,
  lease: 0n,
})

interface Made {
  readonly entry: KeyValue
  readonly value: Buffer
}

function made(maker: EntryMaker, count: number, of = template(), folder = 'web-'): Made[] {
  return Array.from({ length: count }, (_, i) => {
    const value = of(`${folder}${i}`)
    return { entry: maker.entry(keyFromText(`/pods/${folder}${i}`), value, at(i + 2)), value }
  })
}

function keptBytes(entries: readonly Made[]): number {
  return entries.reduce((sum, { entry: { kept } }) => sum + kept.end - kept.start, 0)
}

function checkValues(t: { fail(message: string): unknown }, entries: readonly Made[]): void {
  for (const { entry, value } of entries) {
    const { bytes, start, end } = entry
    const isSame =
      value.equals(bytes.subarray(start, end)) &&
      value.equals(entry.value) &&
      entry.valueLength === value.length
    if (!isSame) t.fail(`the value of ${entry.key}`)
  }
}

t.test('objects of one template are kept as what is different', async t => {
  const entries = made(new EntryMaker(), 1_000)
  checkValues(t, entries)
  const bytes = entries.reduce((sum, { value }) => sum + value.length, 0)
  t.ok(keptBytes(entries) < bytes / 20, `${keptBytes(entries)} of ${bytes} bytes`)
})

t.test('states through which an object goes are kept as differences too', async t => {
  const maker = new EntryMaker()
  const states = [template(), template(), template()]
  const entries = Array.from({ length: 100 }, (_, i) => made(maker, 1, states[i % 3])).flat()
  checkValues(t, entries)
  t.ok(keptBytes(entries) < 3 * 3_100 + 100 * 100)
})

t.test('objects that are alike in nothing are kept whole, on shared slabs', async t => {
  const maker = new EntryMaker()
  const entries = Array.from({ length: 100 }, () => made(maker, 1)).flat()
  checkValues(t, entries)
  const whole = entries.filter(({ entry: { kept } }) => kept.bytes.length === slabBytes)
  t.equal(whole.length, 96, 'the last four are still compared with')
})

t.test('of many templates those that were written to last are held', async t => {
  const maker = new EntryMaker()
  const entries = Array.from({ length: 300 }, (_, i) => made(maker, 1, undefined, `w${i}-`)).flat()
  checkValues(t, entries)
  const whole = entries.filter(({ entry: { kept } }) => kept.bytes.length === slabBytes)
  t.equal(whole.length, 44)
})

t.test('differences are moved off slabs that are mostly dead', async t => {
  const keyspace = new Keyspace({ maxBatches: 1, maxAgeMs: Infinity, maxBytes: Infinity })
  const maker = new EntryMaker()
  const entries = made(maker, 100)
  keyspace.restore(entries.map(({ entry }) => entry).sort(byKey), knownRevision(1_000))
  const packing = packSlabs(() => [keyspace.latest()])
  let step = packing.next()
  while (step.done !== true) step = packing.next()
  t.equal(step.value.movedBytes, keptBytes(entries) - entries[0]!.value.length)
  checkValues(t, entries)
})

t.test('an entry keeps what it is besides its value', async t => {
  const entry = made(new EntryMaker(), 3)[2]!.entry
  t.same(
    [entry.key, entry.modRevision, entry.version, entry.lease, entry.note],
    ['/pods/web-2', 4, 1, 0n, 0],
  )
  const key = keyFromText('/pods/web-2')
  entry.shareKey(key)
  t.equal(entry.key, key)
  const { value } = entry
  const { bytes, start, end } = entry.kept
  entry.move(new SlabWriter().copy(bytes, start, end))
  made(new EntryMaker(), 2)
  t.same(entry.value, value)
})

t.test('a short value keeps no long one in memory', async t => {
  const maker = new EntryMaker()
  const long = Buffer.from(textOf(random, 3_000))
  maker.entry(keyFromText('/pods/web-1'), long, at(2))
  const short = maker.entry(keyFromText('/pods/web-2'), long.subarray(0, 1_000), at(3))
  t.equal(short.kept, short)
  const longer = maker.entry(keyFromText('/pods/web-3'), long.subarray(0, 2_000), at(4))
  t.not(longer.kept, longer)
  t.ok(long.subarray(0, 2_000).equals(longer.value))
})

t.test('a transaction compares so much and keeps the rest whole', async t => {
  const maker = new EntryMaker()
  const of = template()
  const room = { bytes: 20_000 }
  const entries = Array.from({ length: 20 }, (_, i) => {
    const value = of(String(i))
    return { entry: maker.entry(keyFromText(`/pods/web-${i}`), value, at(i + 2), room), value }
  })
  checkValues(t, entries)
  // To look at the first one costs as much as to compare another.
  t.equal(entries.filter(({ entry }) => entry.kept !== entry).length, 6)
})

t.test('values without anything in common are found out early', async t => {
  const base = new Base(Buffer.from(textOf(random, 10_000)))
  t.equal(base.differenceOf(Buffer.from(textOf(random, 10_000)), 3_000), undefined)
  t.equal(base.differenceOf(Buffer.from(textOf(random, 10_000)), 3_000), undefined)
  t.ok(base.readBytes < 600, `${base.readBytes} bytes`)
})

t.test('values lie whole where threads read them', async t => {
  shareSlabs()
  const entries = made(new EntryMaker(), 100)
  checkValues(t, entries)
  for (const { entry } of entries) t.ok(entry.bytes.buffer instanceof SharedArrayBuffer)
})

function byKey(a: KeyValue, b: KeyValue): number {
  return a.key < b.key ? -1 : 1
}
