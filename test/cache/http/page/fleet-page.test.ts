import t from 'tap'
import { renderFleetPage } from '../../../../lib/cache/http/page/fleet-page.ts'
import type { ShownCluster } from '../../../../lib/cache/http/page/shown-cluster.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

const clock = new FakeClock()

function facts(name: string, own: Partial<ShownCluster> = {}): ShownCluster {
  return {
    name,
    state: 'idle',
    isReady: false,
    objects: 0,
    memoryBytes: 0,
    requestsInFlight: 0,
    requests: 0,
    starts: 0,
    failedStarts: 0,
    reads: 0,
    readsFromMemory: 0,
    problem: undefined,
    problemSinceMs: undefined,
    ...own,
  }
}

function rendered(
  all: readonly ShownCluster[],
  audience: 'operators' | 'callers' = 'operators',
): Promise<string> {
  const process = { residentBytes: 1024 ** 2, budgetBytes: 1024 ** 3 }
  const hasPage = (name: string): boolean => name !== 'idle'
  return renderFleetPage({
    version: '1',
    clock,
    clusters: () => Promise.resolve(all),
    process: audience === 'operators' ? process : undefined,
    hasPage,
  })
}

const hostile = '</script><script>alert(1)</script>'

const several: readonly ShownCluster[] = [
  facts('idle', { reads: 7, readsFromMemory: 7 }),
  facts('ready', {
    state: 'awake',
    isReady: true,
    objects: 1_234,
    memoryBytes: 2 * 1024 ** 2,
    reads: 8,
    readsFromMemory: 4,
  }),
  facts('slow', {
    state: 'awake',
    problem: 'mirror: /registry/pods/ is starting',
    problemSinceMs: clock.wallMs() - 5_000,
  }),
  facts('broken', {
    state: 'failed',
    problem: hostile,
    problemSinceMs: clock.wallMs() - 180_000,
  }),
]

/** The names of the rows, in their order. */
function namesIn(page: string): string[] {
  const rows = page.matchAll(/<th scope="row" class="text">(?:<a href="clusters\/\w+\/">)?(\w+)/g)
  return [...rows].map(([, name = '']) => name)
}

t.test('operators see each cluster, the broken ones first, and why', async t => {
  const page = await rendered(several)
  t.strictSame(namesIn(page), ['broken', 'slow', 'ready', 'idle'])
  t.match(page, /One cluster is broken[\s\S]*alert\(1\)[\s\S]*, for 3 min/)
  t.equal(page.match(/<script>/g)?.length, 1, 'reasons stay text')
  t.match(page, 'mirror: /registry/pods/ is starting, for 5.0 s')
  t.match(page, '>1,234<')
  t.match(page, '>4 (50.0 %)<', 'reads that its servers were saved')
  t.match(page, />11<\/strong><span class="soft">73\.3 % answered from memory/)
  t.match(page, '2.0 MiB')
  t.match(page, 'budget 1.0 GiB')
  t.match(page, '<a href="clusters/ready/">ready</a>')
  t.notMatch(page, 'href="clusters/idle/"', 'it has no page now')
  t.notMatch(page, /(?:href|src)="\//, 'addresses begin at the page')
})

t.test('callers see no more than the list of clusters tells them', async t => {
  const page = await rendered(several, 'callers')
  t.strictSame(namesIn(page), ['broken', 'slow', 'ready', 'idle'])
  for (const text of ['alert(1)', '/registry/', 'MiB', 'Saved', 'metrics']) {
    t.notMatch(page.replace(/<style>[\s\S]*<\/style>|<script>[\s\S]*<\/script>/g, ''), text)
  }
  t.match(await rendered([], 'callers'), 'No cluster has accepted you')
  t.match(await rendered([]), 'There are no clusters yet')
})

t.test('many idle clusters are folded away, and a page has so many rows', async t => {
  const many = Array.from({ length: 1_005 }, (_, i) => facts(`c${i}`))
  const page = await rendered([...several, ...many])
  t.match(page, /<details id="idle-clusters">\s*<summary>1,006 idle clusters<\/summary>/)
  t.match(page, '9 more are not shown')
  t.equal(namesIn(page).length, 1_000)
  t.notMatch(await rendered(several), '<details')
})
