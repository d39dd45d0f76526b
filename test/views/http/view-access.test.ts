/** Who may see what: a view shows what the list that it reads would show to its caller, in rows,
 *  counts, totals, groups and suggestions. */

import t, { type Test } from 'tap'
import { openLive } from '../../support/http/live-lines.ts'
import { rbacOf } from '../../support/http/rbac.ts'
import { ask, type HttpAnswer, type Served, startServed } from '../../support/http/served.ts'

const users = [
  'admin,root,,system:masters',
  'ann,ann,u1,',
  'lister,lister,u2,',
  'watcher,watcher,u3,',
].join('\n')

type Body = Readonly<Record<string, unknown>>

const json = ({ body }: HttpAnswer): Body => JSON.parse(body.toString()) as Body

function get(served: Served, token: string, path: string): Promise<HttpAnswer> {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` }
  return ask(served.service.port, { path, headers })
}

async function create(t: Test, served: Served, path: string, object: object): Promise<void> {
  const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' }
  const body = JSON.stringify(object)
  const answer = await ask(served.service.port, { method: 'POST', path, headers, body })
  t.equal(answer.status, 201, `${path}: ${answer.body.toString().slice(0, 300)}`)
}

/** Three namespaces with three ConfigMaps each; ann may read two of them. */
async function startShared(t: Test): Promise<Served> {
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(users),
  })
  await served.service.ready
  const rules: Readonly<Record<string, readonly string[]>> = {
    ann: ['list', 'watch'],
    lister: ['list'],
    watcher: ['watch'],
  }
  for (const name of ['one', 'two', 'three']) {
    await create(t, served, '/api/v1/namespaces', { metadata: { name } })
    for (let i = 0; i < 3; i++) {
      const metadata = { name: `${name}-${i}`, labels: { of: name } }
      await create(t, served, `/api/v1/namespaces/${name}/configmaps`, { metadata })
    }
    if (name === 'three') continue
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}`
    for (const [user, verbs] of Object.entries(rules)) {
      await create(t, served, `${rbac}/roles`, {
        metadata: { name: user },
        rules: [{ apiGroups: [''], resources: ['configmaps'], verbs }],
      })
      await create(t, served, `${rbac}/rolebindings`, {
        metadata: { name: user },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      })
    }
  }
  return served
}

const within = (namespace: string, query = ''): string =>
  `/views/api/v1/namespaces/${namespace}/configmaps?sort=name${query}`

t.test('a user of two namespaces sees nothing of others', async t => {
  const served = await startShared(t)
  for (const namespace of ['one', 'two']) {
    t.match(json(await get(served, 'ann', within(namespace))), { total: 3, matched: 3 })
    const rows = json(await get(served, 'ann', within(namespace)))['rows'] as readonly Body[]
    t.strictSame(
      rows.map(row => row['namespace']),
      [namespace, namespace, namespace],
    )
    const counts = await get(
      served,
      'ann',
      within(namespace, '&countBy=labels.of').replace('sort=name&', ''),
    )
    t.strictSame(json(counts)['groups'], [{ values: [namespace], count: 3 }])
    const other = await get(served, 'ann', within(namespace, '&search=three'))
    t.match(json(other), { total: 3, matched: 0, remaining: 0, rows: [] })
    const where = await get(
      served,
      'ann',
      within(namespace, '&where=name~three%20or%20namespace%3Dthree'),
    )
    t.match(json(where), { total: 3, matched: 0 })
  }
  const refused = [
    '/views/api/v1/configmaps?sort=name',
    '/views/api/v1/configmaps?countBy=namespace',
    '/views/api/v1/configmaps?watch=1',
    within('three'),
    within('three', '&search=three'),
    // The suggestions of the page, and what it counts.
    '/views/api/v1/namespaces?columns=name&revision=0&pageSize=1000',
    '/views/api/v1/pods?countBy=status',
  ]
  for (const path of refused) {
    const answer = await get(served, 'ann', path)
    t.equal(answer.status, 403, path)
    t.notMatch(answer.body.toString(), /three-|"total"/, path)
  }
  t.match(json(await get(served, 'admin', '/views/api/v1/configmaps?labelSelector=of')), {
    matched: 9,
  })
})

t.test('a refusal is that of the list', async t => {
  const served = await startShared(t)
  for (const [token, namespaces] of [
    ['ann', '/namespaces/three'],
    ['ann', ''],
    ['', ''],
    ['nobody', ''],
  ] as const) {
    const list = await get(served, token, `/api/v1${namespaces}/configmaps`)
    const view = await get(served, token, `/views/api/v1${namespaces}/configmaps`)
    t.equal(view.status, list.status)
    t.strictSame(json(view), json(list))
  }
})

t.test('a live view needs both permissions', async t => {
  const served = await startShared(t)
  const { port } = served.service
  for (const [token, verb] of [
    ['lister', 'watch'],
    ['watcher', 'list'],
  ] as const) {
    const answer = await get(served, token, within('one', '&watch=1'))
    t.equal(answer.status, 403, token)
    t.match(json(answer), { message: new RegExp(` cannot ${verb} resource "configmaps"`) })
  }
  const headers = { authorization: 'Bearer ann' }
  const live = await openLive(t, port, within('one', '&watch=1'), headers)
  t.match(await live.next(), { type: 'PAGE', total: 3 })
  await create(t, served, '/api/v1/namespaces/three/configmaps', { metadata: { name: 'three-9' } })
  await create(t, served, '/api/v1/namespaces/one/configmaps', { metadata: { name: 'one-9' } })
  const change = await live.until(() => true)
  t.match(change, { type: 'CHANGE', total: 4, rows: [{ row: { name: 'one-9' } }] })
})
