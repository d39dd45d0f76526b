/** Requests below /views/ of a whole service: what is answered, and how everything else is
 *  refused. */

import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import {
  ask,
  askOver2,
  caughtUp,
  type HttpAnswer,
  type Served,
  startServed,
} from '../../support/http/served.ts'

async function put({ client }: Served, name: string, labels: object = {}): Promise<void> {
  const key = keyFromText(`/registry/configmaps/default/${name}`)
  const metadata = { name, namespace: 'default', uid: `uid-${name}`, labels }
  const value = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata }))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

const json = ({ body }: HttpAnswer): Record<string, unknown> =>
  JSON.parse(body.toString()) as Record<string, unknown>

t.test('a view is answered over HTTP/1.1 and HTTP/2', async t => {
  const served = await startServed(t)
  for (const name of ['b', 'a', 'c']) await put(served, name)
  await caughtUp(served, 3)
  const path = '/views/api/v1/namespaces/default/configmaps?sort=-name&pageSize=2'
  for (const send of [ask, askOver2]) {
    const answer = await send(served.service.port, { path })
    t.equal(answer.status, 200)
    t.equal(answer.headers['content-type'], 'application/json')
    t.equal(answer.headers['cache-control'], 'no-cache, private')
    t.match(json(answer), {
      kind: 'View',
      apiVersion: 'views.watchglass.dev/v1',
      resource: 'configmaps',
      total: 3,
      matched: 3,
      remaining: 1,
      rows: [{ name: 'c', uid: 'uid-c' }, { name: 'b' }],
    })
  }
  const counts = await ask(served.service.port, {
    path: '/views/api/v1/configmaps?countBy=namespace',
  })
  t.match(json(counts), { by: ['namespace'], groups: [{ values: ['default'], count: 3 }] })
  const held = await ask(served.service.port, { path: `${path}&revision=3` })
  t.match(json(held), { revision: '3', matched: 2 })
})

t.test('what is wrong is refused with a Status', async t => {
  const served = await startServed(t)
  const { port } = served.service
  await put(served, 'a')
  await caughtUp(served, 1)
  const configMaps = '/views/api/v1/configmaps'
  const refusals: readonly (readonly [
    path: string,
    code: number,
    message: RegExp,
    headers?: object,
  ])[] = [
    [`${configMaps}?nonsense=1`, 400, /nonsense/],
    [`${configMaps}?sort=name&sort=age`, 400, /sort/],
    [`${configMaps}?where=data%3E`, 400, /^where, column 6: /],
    [`${configMaps}?labelSelector=%3D%3D`, 400, /^found '=='/],
    [`${configMaps}?revision=x`, 400, /x/],
    [`${configMaps}?revision=99999`, 504, /^Timeout: Too large resource version: 99999/],
    ['/views/api/v1/nobodies', 404, /^the server could not find the requested resource$/],
    ['/views/apis/none.example/v1/things', 404, /^the server could not find/],
    ['/views/api/v1/namespaces/default/configmaps/a', 404, /^the server could not find/],
    ['/views/api/v1/watch/configmaps', 404, /^the server could not find/],
    ['/views/metrics', 404, /^the server could not find/],
    ['/views/api/v1', 404, /^the server could not find/],
    [
      configMaps,
      406,
      /^only the following media types are accepted: application\/json$/,
      { accept: 'text/html' },
    ],
    [
      configMaps,
      406,
      /^only the following/,
      { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    ],
    [configMaps, 406, /^only the following/, { accept: 'text/event-stream' }],
    [`${configMaps}?watch=1`, 406, /text\/event-stream$/, { accept: 'text/html' }],
    ['/views/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', 405, /./],
  ]
  for (const [path, code, message, headers = {}] of refusals) {
    const answer = await ask(port, { path, headers: { ...headers } })
    t.equal(answer.status, code, path)
    t.match(json(answer), { kind: 'Status', status: 'Failure', message, code }, path)
  }
})

t.test('a view of any other method than GET is refused, and nothing is written', async t => {
  const served = await startServed(t, { isWritable: true })
  const { port } = served.service
  await put(served, 'a')
  await caughtUp(served, 1)
  const path = '/views/api/v1/namespaces/default/configmaps'
  const body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"made"}}'
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const headers = { 'content-type': 'application/json' }
    const answer = await ask(port, { method, path, headers, body })
    t.equal(answer.status, 405, method)
    t.match(json(answer), { kind: 'Status', reason: 'MethodNotAllowed' }, method)
  }
  t.equal((await ask(port, { method: 'HEAD', path })).status, 405)
  t.match(json(await ask(port, { path })), { total: 1, rows: [{ name: 'a' }] })
})

t.test('a revision that is gone is refused with 410', async t => {
  const served = await startServed(t)
  for (let i = 0; i < 4; i++) await put(served, 'a', { i: String(i) })
  await caughtUp(served, 4)
  await served.client.compact(revision(3))
  served.service.trimHistory(keyFromText('/registry/configmaps/'), 0)
  const path = '/views/api/v1/configmaps?revision=1'
  const answer = await ask(served.service.port, { path })
  t.equal(answer.status, 410)
  t.match(json(answer), { kind: 'Status', reason: 'Expired' })
})

t.test('views describe themselves', async t => {
  const served = await startServed(t)
  const answer = await ask(served.service.port, { path: '/views/openapi/v3' })
  t.equal(answer.status, 200)
  const document = json(answer) as { paths: object; components: { parameters: object } }
  t.equal(Object.keys(document.paths).length, 4)
  t.ok(Object.keys(document.components.parameters).includes('where'))
  t.equal(
    (await ask(served.service.port, { method: 'POST', path: '/views/openapi/v3' })).status,
    405,
  )
})

t.test('the audit log has the view as it was asked for, and the list that it reads', async t => {
  const lines: string[] = []
  const served = await startServed(t, { audit: () => ({ write: line => void lines.push(line) }) })
  await put(served, 'a')
  await caughtUp(served, 1)
  const path = '/views/api/v1/namespaces/default/configmaps?search=a'
  await ask(served.service.port, { path })
  const event = JSON.parse(lines.find(line => line.includes('/views/')) ?? '{}') as object
  t.match(event, {
    requestURI: path,
    verb: 'list',
    objectRef: { resource: 'configmaps', namespace: 'default', apiVersion: 'v1' },
    responseStatus: { code: 200 },
  })
})
