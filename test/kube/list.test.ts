import { noteEffort } from '../../lib/base/slice.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { readPage } from '../support/kube/read-page.ts'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { compileFilter, nameOfKey } from '../../lib/kube/selectors/filter.ts'
import { entriesToLookAt, indexTerms, indexUses } from '../../lib/kube/selectors/index-choice.ts'
import { listMeta, type Page, pageEntries, selectedPage } from '../../lib/kube/list.ts'
import { type ListPlan, planRead } from '../../lib/kube/read-plan.ts'
import { parseQuery } from '../../lib/kube/request/request.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import type { Snapshot } from '../../lib/store/snapshot.ts'
import { builtIn, jsonEntry, labelled } from '../support/kube/kube-builders.ts'
import { countingReader, slowReader } from '../support/kube/slow-selectable.ts'

const pods = builtIn('pods')
const bounds = { maxBatches: 100, maxAgeMs: Infinity, maxBytes: Infinity }

function planOf(query: string, namespace = ''): ListPlan {
  const route = {
    type: 'resource',
    schema: schemaOf(),
    resource: pods,
    verb: 'list',
    namespace,
    name: '',
    subresource: '',
  } as const
  const plan = planRead(route, parseQuery(query))
  if (plan.type !== 'list') throw new Error(plan.type)
  return plan
}

/** A keyspace with these entries, and the indexes of these names. */
function keyspaceOf(entries: readonly KeyValue[], indexes: readonly string[] = []): Keyspace {
  const keyspace = new Keyspace(bounds)
  keyspace.restore(
    [...entries].sort((a, b) => (a.key < b.key ? -1 : 1)),
    revision(50),
  )
  for (const name of indexes) keyspace.addIndex(name, indexTerms(name, pods, slowReader)!)
  while (keyspace.buildIndexes(7));
  return keyspace
}

function pageOf(plan: ListPlan, snapshot: Snapshot): Page {
  const page = readPage({ plan, snapshot, makeReader: slowReader })
  if (page instanceof NotExact) throw new Error(page.reason)
  return page
}

function namesOf(page: Page): string[] {
  return [...pageEntries(page)].map(entry => nameOfKey(entry.key))
}

/** All pages of a list, as a client asks for them. */
function chain(query: string, snapshot: Snapshot): Page[] {
  const pages: Page[] = []
  let token: string | undefined = ''
  while (token !== undefined) {
    const plan = planOf(token === '' ? query : `${query}&continue=${token}`)
    const page = pageOf(plan, snapshot)
    pages.push(page)
    token = listMeta(plan, page).continue
  }
  return pages
}

const entry = fc
  .record({
    namespace: fc.constantFrom('a', 'a-b', 'b'),
    name: fc.string({ unit: fc.constantFrom('x', 'y', 'é', '-'), minLength: 1, maxLength: 4 }),
    app: fc.constantFrom('web', 'api', undefined),
    node: fc.constantFrom('n1', 'n2', ''),
  })
  .map(({ namespace, name, app, node }) =>
    jsonEntry(`/registry/pods/${namespace}/${name}`, {
      metadata: { labels: app === undefined ? {} : { app } },
      spec: { nodeName: node },
    }),
  )
const entries = fc.uniqueArray(entry, { selector: ({ key }) => key, maxLength: 60 })

const selector = fc.constantFrom(
  '',
  'labelSelector=app=web',
  'labelSelector=app in (web,api)',
  'labelSelector=app!=web',
  'fieldSelector=spec.nodeName=n1',
  'fieldSelector=spec.nodeName=',
  'fieldSelector=spec.nodeName=n1&labelSelector=app',
  'fieldSelector=metadata.namespace=a',
  'fieldSelector=metadata.namespace!=a',
)

/** The names that a selection holds, the plain way. */
function selected(query: string, all: readonly KeyValue[]): string[] {
  const filter = compileFilter(planOf(query), slowReader)
  return [...all]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .filter(found => filter === undefined || filter(found) === true)
    .map(({ key }) => nameOfKey(key))
}

t.test('pages of any size are together the whole list, with or without an index', async t => {
  fc.assert(
    fc.property(
      entries,
      selector,
      fc.integer({ min: 1, max: 9 }),
      fc.boolean(),
      (all, query, limit, isIndexed) => {
        const names = isIndexed ? ['label:app', 'field:v1:spec.nodeName'] : []
        const snapshot = keyspaceOf(all, names).latest()
        const expected = selected(query, all)
        assert.deepEqual(namesOf(pageOf(planOf(query), snapshot)), expected)
        const pages = chain(`${query}&limit=${limit}`, snapshot)
        assert.deepEqual(pages.flatMap(namesOf), expected)
        for (const [i, page] of pages.entries()) {
          const isLast = i === pages.length - 1
          assert.equal(page.last === undefined, isLast)
          assert.ok(namesOf(page).length <= limit)
          if (!isLast) assert.equal(namesOf(page).length, limit)
          const after = pages.slice(i + 1).flatMap(namesOf).length
          assert.equal(page.remaining, isLast || query !== '' ? undefined : after)
        }
      },
    ),
    { numRuns: 300 },
  )
  t.pass('no difference')
})

t.test('a namespace holds its own objects only', async t => {
  const keys = ['a/x', 'a-b/x', 'a/y', 'ab/x']
  const snapshot = keyspaceOf(keys.map(key => labelled(`/registry/pods/${key}`, {}))).latest()
  t.strictSame(
    [...pageEntries(pageOf(planOf('', 'a'), snapshot))].map(({ key }) => key),
    ['/registry/pods/a/x', '/registry/pods/a/y'],
  )
})

t.test(
  'an entry that cannot be read makes a selection inexact, with and without an index',
  async t => {
    const all = [
      labelled('/registry/pods/a/x', { app: 'web' }),
      jsonEntry('/registry/pods/a/y', {}),
      ...Array.from({ length: 20 }, (_, i) => labelled(`/registry/pods/b/${i}`, { app: 'api' })),
    ]
    const encrypted = Buffer.from('k8s:enc:aescbc:v1:x')
    const broken = all.map(found =>
      found.key.endsWith('/y')
        ? Object.assign(jsonEntry(found.key, 0), {
            bytes: encrypted,
            start: 0,
            end: encrypted.length,
          })
        : found,
    )
    for (const indexes of [[], ['label:app']]) {
      const snapshot = keyspaceOf(broken, indexes).latest()
      const plan = planOf('labelSelector=app=web')
      t.type(readPage({ plan, snapshot, makeReader: slowReader }), NotExact)
      t.strictSame(namesOf(pageOf(planOf('fieldSelector=metadata.name=x', 'a'), snapshot)), ['x'])
    }
  },
)

t.test('an index answers without looking at the rest', async t => {
  const all = Array.from({ length: 200 }, (_, i) =>
    labelled(`/registry/pods/a/p${1000 + i}`, { app: i % 50 === 0 ? 'web' : 'api' }),
  )
  const plan = planOf('labelSelector=app=web')
  const count = (indexes: readonly string[]): number => {
    const { makeReader, reads } = countingReader()
    const snapshot = keyspaceOf(all, indexes).latest()
    const page = readPage({ plan, snapshot, makeReader })
    t.ok(!(page instanceof NotExact) && namesOf(page).length === 4)
    return reads()
  }
  t.equal(count([]), 200)
  t.equal(count(['label:app']), 0, 'nor at what it finds')
})

t.test('what has to be looked at is what the best index leaves', async t => {
  const all = Array.from({ length: 200 }, (_, i) =>
    labelled(`/registry/pods/${i < 150 ? 'a' : 'b'}/p${1000 + i}`, {
      app: i % 50 === 0 ? 'web' : 'api',
      tier: i % 2 === 0 ? 'x' : 'y',
    }),
  )
  const count = (query: string, indexes: readonly string[], namespace = ''): number => {
    const plan = planOf(query, namespace)
    return entriesToLookAt(keyspaceOf(all, indexes).latest(), plan.range, plan)
  }
  const both = ['label:app', 'label:tier']
  t.equal(count('labelSelector=app=web', []), 200)
  t.equal(count('labelSelector=app=web', both), 4)
  t.equal(count('labelSelector=app=web,tier=x', both), 4)
  t.equal(count('labelSelector=app=web', both, 'b'), 1)
  t.equal(count('labelSelector=app=api', both), 200, 'nearly all: a walk does as well')
  t.equal(count('labelSelector=!app', both), 200)
})

t.test('the indexes that could help are those on equality', async t => {
  const names = (query: string): string[] => indexUses(planOf(query)).map(({ name }) => name)
  t.strictSame(names('labelSelector=a=1,b in (1,2),c!=1,d,!e,f>1'), ['label:a', 'label:b'])
  t.strictSame(names('fieldSelector=spec.nodeName=n,status.phase!=x,metadata.name=y'), [
    'field:v1:spec.nodeName',
  ])
  t.strictSame(names('fieldSelector=spec.nodeName=,status.podIPs=1'), [])
  t.equal(indexTerms('nonsense', pods, slowReader), undefined)
  t.equal(indexTerms('field:v1:nonsense', pods, slowReader), undefined)
})

t.test('the walk over a large range can be made in steps', async t => {
  const all = Array.from({ length: 100 }, (_, i) => labelled(`/registry/pods/a/p${100 + i}`, {}))
  const plan = planOf('labelSelector=!app')
  const snapshot = keyspaceOf(all).latest()
  const walk = selectedPage({ plan, snapshot, makeReader: slowReader }, 7)
  let steps = 1
  let step = walk.next()
  for (; step.done !== true; step = walk.next()) steps++
  t.equal(steps, 15)
  t.ok(!(step.value instanceof NotExact) && namesOf(step.value).length === 100)
})

t.test('a walk gives way after each object that takes long to read', async t => {
  const all = Array.from({ length: 10 }, (_, i) => labelled(`/registry/pods/a/p${i}`, {}))
  const plan = planOf('labelSelector=!app')
  const makeReader: typeof slowReader = (...options) => {
    const reader = slowReader(...options)
    const read: typeof reader.read = value => {
      noteEffort(2_000)
      return reader.read(value)
    }
    return { ...reader, read, label: key => reader.label(key) }
  }
  const walk = selectedPage({ plan, snapshot: keyspaceOf(all).latest(), makeReader }, 64)
  let steps = 0
  while (walk.next().done !== true) steps++
  t.equal(steps, all.length)
})

t.test("a list says the revision that was read, and goes on in upstream's form", async t => {
  const all = ['a', 'b', 'c'].map(name => labelled(`/registry/pods/shop/${name}`, {}))
  const plan = planOf('limit=2')
  const meta = listMeta(plan, pageOf(plan, keyspaceOf(all).latest()))
  t.equal(meta.resourceVersion, '50')
  t.equal(meta.remainingItemCount, 1)
  t.equal(
    Buffer.from(meta.continue ?? '', 'base64url').toString(),
    '{"v":"meta.k8s.io/v1","rv":50,"start":"/shop/b\\u0000"}',
  )
  t.equal(nameOfKey(keyFromText('/registry/pods/shop/é')), 'é')
})
