/** Reads of an etcd that is restored from a backup between two of their pages, or just after the
 *  last one. */

import t from 'tap'
import { CacheError } from '../../../../lib/base/errors.ts'
import { keyAfter, keyFromText, prefixRange, textFromKey } from '../../../../lib/base/keys.ts'
import type { Revision } from '../../../../lib/base/revision.ts'
import { Epochs } from '../../../../lib/cache/mirror/feed/epochs.ts'
import { hasRead } from '../../../../lib/cache/mirror/feed/landmarks.ts'
import { OneHistory } from '../../../../lib/cache/mirror/feed/one-history.ts'
import type { RangePage } from '../../../../lib/cache/mirror/feed/page.ts'
import { TinyEtcd } from '../../../support/etcd/tiny-etcd.ts'

const range = prefixRange(keyFromText('/r/'))

/** An etcd at revision 7, with two pages of keys, of which the first key is the oldest. */
function createEtcd(): TinyEtcd {
  const etcd = new TinyEtcd()
  etcd.connections = 1
  for (const key of ['a', 'c', 'd', 'b', 'e', 'f']) etcd.write({ [`/r/${key}`]: 'x' })
  return etcd
}

function restorePast(etcd: TinyEtcd, backup: number, writes: Record<string, string>): void {
  const last = etcd.revision
  etcd.restoreTo(backup)
  etcd.connections = (etcd.connections ?? 0) + 1
  while (etcd.revision <= last) etcd.write(writes)
}

/** Pages of four keys. Something happens before the second one, or after the last. */
async function* pagesOf(
  etcd: TinyEtcd,
  happens: { readonly between?: () => void; readonly after?: () => void },
): AsyncGenerator<RangePage, void, undefined> {
  let at: Revision | undefined
  for (let { start } = range; ;) {
    const rest = { range: { start, end: range.end }, revision: at, limit: 4 }
    const { header, entries, more, count } = await etcd.range(rest)
    const revision = (at ??= header.revision)
    const { connections } = etcd
    const remaining = count - entries.length
    yield { revision, header, entries, bytes: 0, remaining, connections, isLast: !more }
    if (!more) break
    start = keyAfter(entries.at(-1)!.key)
    happens.between?.()
  }
  happens.after?.()
}

/** The keys that were read, or the code of the failure. Landmarks, which are older, agree. */
async function readAll(
  etcd: TinyEtcd,
  happens: Parameters<typeof pagesOf>[1] = {},
): Promise<string[] | string> {
  const history = new OneHistory({
    client: etcd,
    epochs: new Epochs(),
    probe: {
      ask: () => {},
      has: read => hasRead(read, request => etcd.range(request)),
      isOurHistory: async () => true,
      get reasons() {
        return etcd.connections ?? 0
      },
    },
  })
  const keys: string[] = []
  try {
    for await (const { entries } of history.pagesOf(range, pagesOf(etcd, happens))) {
      keys.push(...entries.map(({ key }) => textFromKey(key)))
    }
  } catch (error) {
    return CacheError.from(error, 'closed').code
  }
  return keys
}

const all = ['/r/a', '/r/b', '/r/c', '/r/d', '/r/e', '/r/f']

t.test('pages of two connections are refused when the first is of another history', async t => {
  const etcd = createEtcd()
  const between = (): void => restorePast(etcd, 4, { '/r/b': 'other' })
  t.equal(await readAll(etcd, { between }), 'source_failed')
})

t.test('over the same connections nothing is asked beside the pages', async t => {
  const etcd = createEtcd()
  t.same(await readAll(etcd), all)
  t.equal(etcd.ranges.length, 2)
})

t.test('a new connection to the same etcd costs a few questions, and the read goes on', async t => {
  const etcd = createEtcd()
  const between = (): void => void (etcd.connections = 2)
  t.same(await readAll(etcd, { between }), all)
  t.ok(etcd.ranges.length < 15, `${etcd.ranges.length} ranges`)
})

t.test('another number of keys at the end is of another history', async t => {
  const etcd = createEtcd()
  etcd.write({ '/r/g': 'x' })
  etcd.write({ '/r/g': undefined })
  const after = (): void => restorePast(etcd, 8, { '/elsewhere': 'other' })
  t.equal(await readAll(etcd, { after }), 'source_failed')
})

t.test('what another history has changed in earlier pages shows in its term', async t => {
  for (const when of ['between', 'after'] as const) {
    const etcd = createEtcd()
    // The change of the last revision is of no key that is read.
    etcd.write({ '/elsewhere': 'x' })
    const restore = (): void => {
      restorePast(etcd, 7, { '/r/a': 'other' })
      etcd.raftTerm++
    }
    t.equal(await readAll(etcd, { [when]: restore }), 'source_failed', when)
  }
})

t.test('another leader on the same connections has the same history', async t => {
  const etcd = createEtcd()
  const between = (): void => void etcd.raftTerm++
  t.same(await readAll(etcd, { between }), all)
})

t.test('an etcd that has a new connection for each question is not asked for ever', async t => {
  const etcd = createEtcd()
  etcd.onRange = () => void (etcd.connections = (etcd.connections ?? 0) + 1)
  t.equal(await readAll(etcd), 'source_failed')
  t.ok(etcd.ranges.length < 50, `${etcd.ranges.length} ranges`)
})
