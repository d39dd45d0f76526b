/** Beside an aggregated API server: its resources are declared, or taken from what it lists; its
 *  own etcd; its readiness. */

import t, { type Test } from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { configuredResource } from '../../../lib/cli/commands/plan/configured-resources.ts'
import { moment } from '../../support/http/moment.ts'
import { ask, type HttpAnswer } from '../../support/http/served.ts'
import {
  answeredHere,
  originOf,
  type Proxied,
  startProxied,
} from '../../support/upstream/proxied.ts'

const flunders = '/apis/wardle.example.com/v1/namespaces/default/flunders'
const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const

const flunder = configuredResource({
  group: 'wardle.example.com',
  version: 'v1',
  resource: 'flunders',
  kind: 'Flunder',
  scope: 'Namespaced',
  prefix: '/registry/wardle.example.com/flunders',
  selectableFields: [{ jsonPath: '.spec.reference' }],
  printerColumns: [{ name: 'Reference', type: 'string', jsonPath: '.spec.reference' }],
})

async function put({ client }: Proxied, name: string): Promise<void> {
  const object = {
    kind: 'Flunder',
    apiVersion: 'wardle.example.com/v1',
    metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { reference: `of-${name}` },
  }
  const key = keyFromText(`/registry/wardle.example.com/flunders/default/${name}`)
  const value = Buffer.from(JSON.stringify(object))
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

async function start(t: Test, options: Parameters<typeof startProxied>[1]): Promise<Proxied> {
  const upstream = { service: { configured: [flunder] } }
  const proxied = await startProxied(t, { upstream, ...options })
  await put(proxied, 'a')
  await put(proxied, 'b')
  return proxied
}

t.test('declared resources are answered here once the server has the same', async t => {
  const service = { configured: [flunder], adminListen }
  const proxied = await start(t, { service })
  await answeredHere(proxied, 'wardle.example.com', 'v1', 'flunders')
  const readSelected = (): Promise<HttpAnswer> =>
    proxied.get(`${flunders}?fieldSelector=spec.reference%3Dof-b`)
  // The objects may come after the resource was settled, and are compared before they are answered.
  let selected = await readSelected()
  while (originOf(selected) === 'pass; reason=unproven') selected = await readSelected()
  t.equal(originOf(selected), 'mirror; revision=N')
  const { items } = JSON.parse(selected.body.toString()) as { items: { metadata: object }[] }
  t.match(items, [{ metadata: { name: 'b' } }])
  const table = await proxied.get(flunders, {
    accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
  })
  t.match(table.body.toString(), /"name":"Reference"/)
})

t.test('what the server lists is served without a declaration', async t => {
  const proxied = await start(t, { discoversResources: true })
  await answeredHere(proxied, 'wardle.example.com', 'v1', 'flunders')
  const list = await proxied.get(flunders)
  t.equal(originOf(list), 'mirror; revision=N')
  t.match(list.body.toString(), /"kind":"FlunderList"/)
  await put(proxied, 'c')
  t.match((await proxied.get(`${flunders}/c`)).body.toString(), /"reference":"of-c"/)
})

t.test('without being told so, what is not declared passes', async t => {
  const proxied = await start(t, {})
  while (proxied.service.knowledge?.isKnown !== true) await new Promise(setImmediate)
  const list = await proxied.get(flunders)
  t.equal(originOf(list), 'pass; reason=unknown-resource')
  t.match(list.body.toString(), /"name":"a"/)
})

t.test('readiness follows the server', async t => {
  const proxied = await start(t, { service: { configured: [flunder], adminListen } })
  const { upstream, service } = proxied
  const { port } = upstream
  await answeredHere(proxied, 'wardle.example.com', 'v1', 'flunders')
  const ready = async (): Promise<number> =>
    (await ask(service.adminPort, { path: '/readyz' })).status
  t.equal(await ready(), 200)
  await upstream.down()
  await proxied.get('/echo')
  t.equal(await ready(), 500)
  const { body } = await ask(service.adminPort, { path: '/readyz?verbose' })
  t.match(body.toString(), /^\[-\]upstream failed: /m)
  await upstream.listen(port)
  while ((await ready()) !== 200) await proxied.get('/echo')
  // It may be another server by now: it is compared anew.
  await answeredHere(proxied, 'wardle.example.com', 'v1', 'flunders')
  t.equal(originOf(await proxied.get(flunders)), 'mirror; revision=N')
})

/** Resolves when a read is answered here. */
async function readHere(proxied: Proxied): Promise<void> {
  while (!originOf(await proxied.get(flunders)).startsWith('mirror')) await moment()
}

t.test('while a server that was away has no answers, what it showed before counts', async t => {
  const proxied = await start(t, { discoversResources: true })
  const { upstream, service } = proxied
  await answeredHere(proxied, 'wardle.example.com', 'v1', 'flunders')
  await readHere(proxied)
  let refused = 0
  upstream.fault = ({ url }) => {
    if (url === '/readyz') return undefined
    refused++
    return { type: 'answer', answer: { code: 429, body: '' } }
  }
  service.knowledge!.upstreamIsBack()
  while (refused < 2) {
    t.equal(originOf(await proxied.get(flunders)), 'mirror; revision=N')
    await moment()
  }
  upstream.fault = () => undefined
  await readHere(proxied)
})

t.test('GET /resources says what is answered here, and why the rest is not', async t => {
  const proxied = await start(t, { service: { configured: [flunder], adminListen } })
  await answeredHere(proxied, 'wardle.example.com', 'v1', 'flunders')
  const { body } = await ask(proxied.service.adminPort, { path: '/resources' })
  const { resources } = JSON.parse(body.toString()) as { resources: Record<string, unknown>[] }
  const found = (name: string): unknown => resources.find(one => one['resource'] === name)
  t.match(found('flunders'), {
    groupVersion: 'wardle.example.com/v1',
    isAnsweredHere: true,
    storedUnder: '/registry/wardle.example.com/flunders/',
    storedAs: 'wardle.example.com/v1 Flunder (json)',
  })
  t.match(found('secrets'), {
    isAnsweredHere: false,
    reason: 'unproven',
    why: /lists with the revisions of this etcd/,
  })
})
