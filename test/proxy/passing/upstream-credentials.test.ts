/** Who the upstream takes us for: ourselves with our own questions, and never with anybody
 *  else's. */

import { readFileSync, renameSync, writeFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { BalancedUpstream } from '../../../lib/proxy/upstream/balanced-upstream.ts'
import { defaultUpstreamTimeouts, UpstreamServer } from '../../../lib/proxy/upstream/server.ts'
import { TokenFile } from '../../../lib/proxy/upstream/token.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { ask } from '../../support/http/served.ts'
import { head, raw } from '../../support/http/raw-http.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import { answeredHere, configMap, originOf, startProxied } from '../../support/upstream/proxied.ts'

const certs = 'test/support/certs'
const read = (name: string): Buffer => readFileSync(`${certs}/${name}`)
const maps = '/api/v1/namespaces/default/configmaps'
const objects = [[maps, configMap('a', '1')]] as const
const own = { cert: read('client.pem'), key: read('client.key') }

t.test('our certificate and token are shown with our own questions only', async t => {
  const proxied = await startProxied(t, {
    objects,
    upstream: { tls: true },
    tls: { ca: read('ca.pem'), own },
    token: () => Promise.resolve('our-own-token'),
  })
  const { upstream, port, get } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const ourselves = upstream.seen.filter(({ certificate }) => certificate !== '')
  t.ok(ourselves.length > 5, 'discovery, version and probes are asked as ourselves')
  t.ok(ourselves.every(({ headers }) => headers.authorization === 'Bearer our-own-token'))
  upstream.seen.length = 0
  await get('/echo', { authorization: 'Bearer of-a-client' })
  await get('/echo')
  await ask(port, { method: 'POST', path: '/echo', body: 'x' })
  await get(`${maps}?watch=1&timeoutSeconds=1&x=y`)
  const upgrade = ['Connection: Upgrade', 'Upgrade: SPDY/3.1']
  await raw(port, head('POST /api/v1/namespaces/a/pods/p/exec?refuse=403', ...upgrade))
  const passed = upstream.seen.filter(({ headers }) => headers['x-forwarded-for'] !== undefined)
  t.equal(passed.length, 5)
  for (const { certificate, headers, url } of passed) {
    t.equal(certificate, '', `${url} has no certificate of ours`)
    t.notMatch(String(headers.authorization), /our-own/)
  }
  const health = upstream.seen.find(({ url }) => url === '/readyz')
  t.equal(health?.certificate ?? '', '')
})

t.test('an upstream whose certificate nobody vouches for is not spoken to', async t => {
  const { get, upstream, service } = await startProxied(t, { upstream: { tls: true } })
  const answer = await get('/echo', { authorization: 'Bearer secret' })
  t.equal(answer.status, 503)
  t.equal(upstream.seen.length, 0)
  t.equal(service.knowledge?.isKnown, false)
  t.equal(originOf(answer), 'pass; reason=not-a-resource')
})

t.test('a token is read again when its file changes', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'watchglass-token-'))
  const file = join(folder, 'token')
  const clock = new FakeClock()
  const tokens = new TokenFile(file, clock)
  await t.rejects(tokens.token(), { code: 'invalid_request' })
  writeFileSync(file, 'one\n')
  t.equal(await tokens.token(), 'one')
  // As kubelet does it: another file takes its place.
  writeFileSync(`${file}.new`, 'two\n')
  renameSync(`${file}.new`, file)
  t.equal(await tokens.token(), 'one', 'not looked at so soon')
  await clock.advance(1_001)
  t.equal(await tokens.token(), 'two')
  await clock.advance(1_001)
  renameSync(file, `${file}.away`)
  t.equal(await tokens.token(), 'two', 'the last one goes on')
  for (const text of ['', 'not a\ntoken']) {
    writeFileSync(file, text)
    await clock.advance(1_001)
    t.equal(await tokens.token(), 'two', 'and so it does while another is being written')
    await t.rejects(new TokenFile(file, clock).token(), { message: /holds no token$/ })
  }
  writeFileSync(file, 'three')
  await clock.advance(1_001)
  t.equal(await tokens.token(), 'three')
})

t.test('while there is no token, no server has answered a question of ours', async t => {
  const clock = new FakeClock()
  const timeouts = defaultUpstreamTimeouts
  const upstream = new BalancedUpstream({
    servers: [new UpstreamServer({ url: new URL('http://127.0.0.1:1'), timeouts })],
    credentials: () => Promise.reject(new Error('there is no token')),
    timeouts,
    clock,
    logger: silentLogger,
  })
  t.teardown(() => upstream.stop())
  const { signal } = new AbortController()
  const question = { method: 'GET', path: '/version', headers: {}, signal }
  t.match(await upstream.questions.callEach(question, 'ourselves'), [
    { message: 'there is no token' },
  ])
  await t.rejects(upstream.call(question, 'ourselves'), { message: 'there is no token' })
})
