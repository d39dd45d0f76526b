import t from 'tap'
import { ask, startServed } from '../http/served.ts'
import { TestUpstream, upstreamReady } from './upstream.ts'

const configMap = (name: string, value: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: value } })

t.test('the upstream of tests writes, reads and watches over one etcd', async t => {
  const { client } = await startServed(t)
  const upstream = await TestUpstream.start({ client })
  t.teardown(() => upstream.stop())
  await upstreamReady(upstream)
  const { port } = upstream
  const path = '/api/v1/namespaces/default/configmaps'
  const headers = { 'content-type': 'application/json' }
  const created = await ask(port, { method: 'POST', path, headers, body: configMap('c', '1') })
  t.equal(created.status, 201, created.body.toString())
  const again = await ask(port, { method: 'POST', path, headers, body: configMap('c', '1') })
  t.equal(again.status, 409)
  const patch = await ask(port, {
    method: 'PATCH',
    path: `${path}/c`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: '{"data":{"b":"2"}}',
  })
  t.equal(patch.status, 200, patch.body.toString())
  const read = await ask(port, { path: `${path}/c` })
  t.strictSame((JSON.parse(read.body.toString()) as { data: unknown }).data, { a: '1', b: '2' })
  const deleted = await ask(port, { method: 'DELETE', path: `${path}/c` })
  t.equal(deleted.status, 200)
  t.equal((await ask(port, { path: `${path}/c` })).status, 404)
})
