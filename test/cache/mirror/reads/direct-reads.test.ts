import t from 'tap'
import { prefixRange, keyFromText } from '../../../../lib/base/keys.ts'
import { revision } from '../../../../lib/base/revision.ts'
import type { DirectReadRequest } from '../../../../lib/cache/mirror/reads/direct-reads.ts'
import type { Mirror } from '../../../../lib/cache/mirror/mirror.ts'
import type { RangePage } from '../../../../lib/cache/mirror/feed/page.ts'
import { createReadyFixture, type MirrorFixture } from '../../../support/mirror/mirror-builders.ts'

const range = prefixRange(keyFromText('/r/a/'))

async function createFilled(): Promise<MirrorFixture> {
  const fixture = await createReadyFixture({ limits: { pageMinEntries: 10, pageMaxEntries: 10 } })
  for (let i = 10; i < 35; i++) fixture.etcd.put({ [`/r/a/${i}`]: 'x' })
  return fixture
}

async function collect(
  mirror: Mirror,
  request: Omit<DirectReadRequest, 'signal' | 'range'>,
): Promise<RangePage[]> {
  const pages: RangePage[] = []
  const { signal } = new AbortController()
  for await (const page of mirror.directReads.read({ range, signal, ...request })) pages.push(page)
  return pages
}

t.test('a whole range is read in pages at one revision', async t => {
  const { etcd, mirror, counts } = await createFilled()
  const reading = collect(mirror, {})
  etcd.put({ '/r/a/zz': 'y' })
  const pages = await reading
  t.same(
    pages.map(page => [page.entries.length, page.revision, page.isLast]),
    [
      [10, 26, false],
      [10, 26, false],
      [5, 26, true],
    ],
  )
  t.equal(counts.get('directRead whole answered'), 1)
})

t.test('a small read is one page, at an old revision too', async t => {
  const { mirror, counts } = await createFilled()
  const pages = await collect(mirror, { limit: 3, revision: revision(15) })
  t.same(
    pages.map(page => [page.entries.length, page.revision, page.isLast]),
    [[3, 15, false]],
  )
  t.equal(counts.get('directRead small failed'), undefined)
})

t.test('what etcd has compacted has expired here too', async t => {
  const { etcd, mirror, counts } = await createFilled()
  etcd.compacted = 20
  await t.rejects(collect(mirror, { limit: 3, revision: revision(15) }), { code: 'expired' })
  t.equal(counts.get('directRead small failed'), 1)
})

t.test('of a revision that etcd does not have it is said which one it has', async t => {
  const { mirror } = await createFilled()
  const read = collect(mirror, { limit: 3, revision: revision(1000) })
  await t.rejects(read, { code: 'future_revision', details: { latest: 26 } })
})

t.test('only a few may be under way', async t => {
  const { etcd, mirror, counts } = await createFilled()
  let release = (): void => {}
  etcd.held = new Promise(resolve => {
    release = resolve
  })
  const two = [collect(mirror, {}), collect(mirror, {})]
  await t.rejects(collect(mirror, {}), { code: 'overloaded', details: { retryAfterMs: 1000 } })
  const eight = Array.from({ length: 8 }, () => collect(mirror, { limit: 1 }))
  await t.rejects(collect(mirror, { limit: 1 }), { code: 'overloaded' })
  release()
  t.equal((await Promise.all([...two, ...eight])).length, 10)
  t.equal(counts.get('directRead whole refused'), 1)
  t.equal((await collect(mirror, {})).length, 3, 'and others after them')
})

t.test('a reader that stops early gives its place back', async t => {
  const { mirror } = await createFilled()
  const { signal } = new AbortController()
  for (let i = 0; i < 5; i++) {
    for await (const page of mirror.directReads.read({ range, signal })) {
      t.equal(page.entries.length, 10)
      break
    }
  }
})
