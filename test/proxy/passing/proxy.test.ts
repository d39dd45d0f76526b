import t from 'tap'
import { answeredHere, configMap, originOf, startProxied } from '../../support/upstream/proxied.ts'
import { ask } from '../../support/http/served.ts'

const maps = '/api/v1/namespaces/default/configmaps'

t.test('reads come from the mirror once the upstream is known to have the same', async t => {
  const proxied = await startProxied(t, { objects: [[maps, configMap('a', '1')]] })
  const { get, port } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const list = await get(maps)
  t.equal(originOf(list), 'mirror; revision=N')
  t.match(list.body.toString(), /"name":"a"/)
  t.equal(originOf(await get(`${maps}/a`)), 'mirror; revision=N')
  t.equal(originOf(await get(`${maps}?x=1`)), 'pass; reason=parameter')
  t.equal(originOf(await get('/api/v1/pods')), 'pass; reason=unproven', 'there are none')
  t.equal(originOf(await get('/version')), 'pass; reason=not-a-resource')
  const missing = await get(`${maps}/nope`)
  t.equal(missing.status, 404)
  t.equal(originOf(missing), 'mirror; revision=N')
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(configMap('b', '2'))
  const written = await ask(port, { method: 'POST', path: maps, headers, body })
  t.equal(written.status, 201)
  t.equal(originOf(written), 'pass; reason=write')
  t.match((await get(maps)).body.toString(), /"name":"b"/, 'a write is seen at once')
})
