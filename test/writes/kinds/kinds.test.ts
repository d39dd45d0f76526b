/** A kind is one page: what the pages of lib/writes/kinds have in common. */

import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { strategyOf } from '../../../lib/writes/operations/strategy.ts'
import type { WriteKind } from '../../../lib/writes/write-kind.ts'
import { kindNamed, kinds, kindServedAs } from '../../../lib/writes/kinds/index.ts'

const folder = 'lib/writes/kinds'
const groups = readdirSync(folder, { withFileTypes: true })
  .filter(entry => entry.isDirectory() && entry.name !== 'shared')
  .map(({ name }) => name)
const pages = groups.flatMap(group =>
  readdirSync(`${folder}/${group}`)
    .filter(file => file.endsWith('.ts'))
    .map(file => `${group}/${file}`),
)

/** `group/kind.ts` in words with hyphens: `storage/csi-driver.ts`. */
function pageOf({ group, kind }: { readonly group: string; readonly kind: string }): string {
  const words = kind
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
  return `${group === '' ? 'core' : group.split('.')[0]}/${words}.ts`
}

t.test('each kind has the page of its name, and each page one kind of the registry', async t => {
  t.strictSame(kinds.map(pageOf).sort(), pages.sort())
  for (const page of pages) {
    const text = readFileSync(`${folder}/${page}`, 'utf8')
    t.equal(text.match(/ = kind\(\{/g)?.length, 1, page)
  }
})

t.test('a kind is found by its name and by its resource, with its group', async t => {
  const job = kindNamed('Job', 'batch')
  t.equal(job?.groupKind, 'Job.batch')
  t.equal(job?.groupResource, 'jobs.batch')
  t.equal(kindServedAs('jobs', 'batch'), job)
  t.equal(kindNamed('Pod', '')?.groupResource, 'pods')
  t.notOk(kindNamed('Job', ''))
  t.notOk(kindServedAs('jobs', 'example.com'))
  t.not(kindNamed('Event', ''), kindNamed('Event', 'events.k8s.io'))
})

t.test('events are kept for an hour, but not custom resources of that name', async t => {
  const ttlOf = (group: string, definition?: object): number | undefined =>
    strategyOf({ group, resource: 'events', definition } as WriteKind, '').ttlSeconds
  t.equal(ttlOf(''), 3600)
  t.equal(ttlOf('events.k8s.io'), 3600)
  t.equal(ttlOf('example.com', { name: 'events.example.com', hasStatus: false }), undefined)
})
