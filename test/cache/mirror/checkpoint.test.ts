/** A start from a checkpoint is a start from etcd, whatever the checkpoint has: that of the same
 *  contents, of older ones, of a part, of another etcd, of a history that was lost. */

import t from 'tap'
import { allKeys, type Key, textFromKey } from '../../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../../lib/base/random.ts'
import { revision } from '../../../lib/base/revision.ts'
import type { Logger } from '../../../lib/base/logger.ts'
import type { Checkpoint } from '../../../lib/cache/mirror/checkpoint.ts'
import { BTreeBuilder } from '../../../lib/store/btree-builder.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { TinyEtcd } from '../../support/etcd/tiny-etcd.ts'
import {
  contentsOf,
  createFixture,
  keyspaceNamed,
  type MirrorFixture,
  read,
} from '../../support/mirror/mirror-builders.ts'
import { type Said, sayingLogger } from '../../support/saying-logger.ts'
import { silentLogger } from '../../support/silent-logger.ts'

/** The checkpoint that `save` would write now, or at a revision. */
async function savedFrom(etcd: TinyEtcd, at: number = etcd.revision): Promise<Checkpoint> {
  const { entries } = await etcd.range({ range: allKeys, revision: revision(at) })
  etcd.ranges.length = 0
  const { clusterId } = etcd
  const builder = new BTreeBuilder<KeyValue>()
  for (const entry of entries) builder.add(entry)
  const contents = { clusterId, revision: revision(at), entries: builder.finish() }
  return { name: 'a checkpoint', read: async () => contents }
}

const small = { pageMinEntries: 5, pageMaxEntries: 7, partMaxEntries: 20 }

async function started(
  etcd: TinyEtcd,
  checkpoint: Checkpoint | undefined,
  logger: Logger = silentLogger,
): Promise<MirrorFixture> {
  const fixture = createFixture({ etcd, limits: small, mirror: { checkpoint, logger } })
  fixture.mirror.start()
  await fixture.clock.advance(0)
  etcd.lastWatch.accept()
  await fixture.clock.advance(0)
  t.teardown(() => fixture.mirror.stop())
  return fixture
}

async function allOf({ mirror }: MirrorFixture): Promise<unknown> {
  return [contentsOf(await read(mirror, 'a')), contentsOf(await read(mirror, 'b'))]
}

/** The keys from which on values were read; landmarks are asked for with a limit of one. */
function readValues(etcd: TinyEtcd): Key[] {
  return etcd.ranges.flatMap(({ range, keysOnly, countOnly, limit }) =>
    keysOnly === true || countOnly === true || limit === 1 ? [] : range.start,
  )
}

/** Why the checkpoint was left aside. */
function leftAside(said: readonly Said[]): string {
  const line = said.find(({ text }) => text.startsWith('the checkpoint is left aside'))
  return String(line?.fields['reason'])
}

function writeMany(etcd: TinyEtcd, count: number): void {
  for (let i = 0; i < count; i++) etcd.write({ [`/r/${i % 2 === 0 ? 'a' : 'b'}/${i}`]: `v${i}` })
}

t.test('only what has changed since is read with its value', async t => {
  const etcd = new TinyEtcd()
  writeMany(etcd, 60)
  const checkpoint = await savedFrom(etcd)
  etcd.write({ '/r/a/10': 'changed', '/r/b/new': 'made', '/r/a/12': undefined })
  etcd.write({ '/r/a/40': 'changed' })
  etcd.write({ '/r/a/40': 'changed again' })
  etcd.compacted = etcd.revision
  const fixture = await started(etcd, checkpoint)
  const asked = new Set(readValues(etcd).map(textFromKey))
  for (const key of ['/r/a/10', '/r/a/40', '/r/b/new']) t.ok(asked.has(key), key)
  t.ok(asked.size <= 3 + 8, 'those and the newest ones that were taken')
  const { entries, revision: at } = contentsOf(await read(fixture.mirror, 'a'))
  t.equal(at, etcd.revision)
  t.equal(entries.length, 29)
  t.ok(entries.includes('/r/a/40=changed again'))
  t.notOk(entries.some(entry => entry.startsWith('/r/a/12=')))
  t.same(await allOf(fixture), await allOf(await started(etcd, undefined)))
})

t.test('a keyspace that becomes known right after takes its values from there, too', async t => {
  const etcd = new TinyEtcd()
  writeMany(etcd, 10)
  for (let i = 0; i < 20; i++) etcd.write({ [`/r/late/${i}`]: `late ${i}` })
  const { mirror, clock } = await started(etcd, await savedFrom(etcd))
  etcd.ranges.length = 0
  mirror.add(keyspaceNamed('late'))
  await clock.advance(0)
  t.equal(contentsOf(await read(mirror, 'late')).entries.length, 20)
  t.ok(readValues(etcd).length <= 8, 'only the newest are compared')
  await clock.advance(60_000)
  etcd.ranges.length = 0
  mirror.drop('late')
  mirror.add(keyspaceNamed('late'))
  await clock.advance(0)
  t.equal(contentsOf(await read(mirror, 'late')).entries.length, 20)
  t.notOk(
    etcd.ranges.some(({ keysOnly }) => keysOnly),
    'after a minute it is forgotten',
  )
})

t.test('a checkpoint of another etcd, or one that cannot be read, is left aside', async t => {
  const other = new TinyEtcd()
  other.clusterId = 7n
  writeMany(other, 20)
  const etcd = new TinyEtcd()
  writeMany(etcd, 20)
  const rows: [Checkpoint, RegExp][] = [
    [await savedFrom(other), /it is of etcd cluster 7, this is 1/],
    [
      {
        name: 'a checkpoint',
        read: async () => {
          throw new Error('it is damaged')
        },
      },
      /it is damaged/,
    ],
  ]
  for (const [checkpoint, reason] of rows) {
    const { logger, said } = sayingLogger()
    const fixture = await started(etcd, checkpoint, logger)
    t.match(leftAside(said), reason)
    t.same(await allOf(fixture), await allOf(await started(etcd, undefined)))
  }
})

t.test('a checkpoint of a history that was lost is left aside', async t => {
  const etcd = new TinyEtcd()
  writeMany(etcd, 20)
  const backup = etcd.revision
  writeMany(etcd, 10)
  const checkpoint = await savedFrom(etcd)
  etcd.restoreTo(backup)
  // The same keys at the same revisions, with other values.
  for (let i = 0; i < 10; i++) etcd.write({ [`/r/${i % 2 === 0 ? 'a' : 'b'}/${i}`]: `other ${i}` })
  writeMany(etcd, 3)
  const { logger, said } = sayingLogger()
  const fixture = await started(etcd, checkpoint, logger)
  t.match(leftAside(said), /it is of another history of this etcd/)
  const { entries } = contentsOf(await read(fixture.mirror, 'a'))
  t.ok(entries.includes('/r/a/8=other 8'))
  t.same(await allOf(fixture), await allOf(await started(etcd, undefined)))
})

t.test('an etcd that sends other values than keys is asked again', async t => {
  const etcd = new TinyEtcd()
  writeMany(etcd, 12)
  const checkpoint = await savedFrom(etcd)
  etcd.write({ '/r/a/2': 'changed' })
  let wrong = 1
  const range = etcd.range.bind(etcd)
  etcd.range = async (request, signal) => {
    const answer = await range(request, signal)
    const isValue = request.revision !== undefined && request.keysOnly !== true
    return isValue && wrong-- > 0 ? { ...answer, entries: [], count: 0 } : answer
  }
  const { mirror, clock } = createFixture({ etcd, limits: small, mirror: { checkpoint } })
  t.teardown(() => mirror.stop())
  mirror.start()
  await clock.advance(100)
  etcd.lastWatch.accept()
  await clock.advance(0)
  t.ok(contentsOf(await read(mirror, 'a')).entries.includes('/r/a/2=changed'))
})

/** Writes, deletes, and restores now and then. */
async function live(etcd: TinyEtcd, random: Random, steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) {
    if (random.next() < 0.03 && etcd.revision > 10) {
      etcd.restoreTo(randomInt(random, 2, etcd.revision))
      continue
    }
    const { entries } = await etcd.range({ range: allKeys })
    const known = new Set(entries.map(({ key }) => textFromKey(key)))
    const writes: Record<string, string | undefined> = { '/r/a/0': `${random.next()}` }
    for (let n = randomInt(random, 1, 4); n > 0; n--) {
      const key = `/r/${random.next() < 0.5 ? 'a' : 'b'}/${randomInt(random, 1, 40)}`
      const isDelete = random.next() < 0.25
      // A delete of nothing is no change.
      if (!isDelete || known.has(key)) writes[key] = isDelete ? undefined : `${random.next()}`
    }
    etcd.write(writes)
  }
}

t.test('whatever happened since, the contents are those of etcd', async t => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = createRandom(seed)
    const etcd = new TinyEtcd()
    await live(etcd, random, randomInt(random, 1, 60))
    const at = randomInt(random, 1, etcd.revision)
    const checkpoint = await savedFrom(etcd, at)
    await live(etcd, random, randomInt(random, 0, 40))
    etcd.compacted = randomInt(random, 0, etcd.revision)
    const fromCheckpoint = await started(etcd, checkpoint)
    const fromEtcd = await started(etcd, undefined)
    t.same(await allOf(fromCheckpoint), await allOf(fromEtcd), `seed ${seed}`)
  }
})
