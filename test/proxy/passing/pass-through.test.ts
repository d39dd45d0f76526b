/** Reads of contents that the mirror holds and cannot answer exactly pass; and so does what
 *  somebody wants to pass. */

import * as http from 'node:http'
import t from 'tap'
import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import { createTokenEncryption } from '../../../lib/cli/commands/plan/token-encryption.ts'
import { ask, type HttpAnswer } from '../../support/http/served.ts'
import { moment } from '../../support/http/moment.ts'
import {
  answeredHere,
  configMap,
  created,
  originOf,
  type Proxied,
  startProxied,
} from '../../support/upstream/proxied.ts'

const maps = '/api/v1/namespaces/default/configmaps'
const objects = [[maps, configMap('a', '1')]] as const

/** Puts a value that nobody can decode. */
async function putEncrypted({ client }: Proxied, name: string): Promise<void> {
  const key = keyFromText(`/registry/configmaps/default/${name}`)
  const value = Buffer.from('k8s:enc:aescbc:v1:key1:0123456789')
  await client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] })
}

async function remove({ client }: Proxied, name: string): Promise<void> {
  const range = singleKey(keyFromText(`/registry/configmaps/default/${name}`))
  await client.txn({ compares: [], success: [{ type: 'delete', range }], failure: [] })
}

/** Lets the upstream answer what it could, if it had the keys. */
function decrypting({ upstream }: Proxied): void {
  const answer = { code: 200, body: '{"kind":"ConfigMapList","items":[]}' }
  upstream.fault = ({ url, method }) =>
    method === 'GET' && url.startsWith(maps) ? { type: 'answer', answer } : undefined
}

t.test('one object that cannot be shown passes the whole list, small or large', async t => {
  const proxied = await startProxied(t, { objects })
  const { get, upstream } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  t.equal(originOf(await get(maps)), 'mirror; revision=N')
  for (let i = 0; i < 40; i++) {
    await created(upstream.port, maps, configMap(`m${i}`, 'x'.repeat(60_000)))
  }
  const whole = await get(maps)
  t.equal(originOf(whole), 'mirror; revision=N')
  t.ok(whole.body.length > 2_400_000, 'the list is longer than what is made at once')
  // The last of all keys, so that it comes when a list is well under way.
  await putEncrypted(proxied, 'z')
  decrypting(proxied)
  t.equal(originOf(await get(maps)), 'pass; reason=inexact')
  t.equal(originOf(await get(`${maps}?limit=2`)), 'mirror; revision=N', 'a page without it')
  t.equal(originOf(await get(`${maps}/z`)), 'pass; reason=inexact')
  t.equal(originOf(await get(`${maps}/a`)), 'mirror; revision=N')
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  t.equal(originOf(await get(maps, table)), 'pass; reason=inexact')
  await remove(proxied, 'z')
  t.equal(originOf(await get(maps)), 'mirror; revision=N', 'as soon as it is gone')
})

interface ScheduledWatch {
  readonly answer: http.IncomingMessage
  /** Text that has come until the watch ended. */
  readonly text: Promise<string>
  /** Resolves when something has come. */
  readonly begun: Promise<unknown>
}

function watch(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<ScheduledWatch> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path, headers, agent: false }
    http
      .get(options, answer => {
        answer.setEncoding('utf8')
        const begun = new Promise(found => answer.once('data', found))
        const text = (async () => {
          let all = ''
          for await (const piece of answer as AsyncIterable<string>) all += piece
          return all
        })()
        text.catch(() => {})
        resolve({ answer, text, begun })
      })
      .on('error', reject)
  })
}

function revisionIn({ body }: HttpAnswer): number {
  const { metadata } = JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }
  return Number(metadata.resourceVersion)
}

t.test(
  'an event that cannot be told ends a watch before it; those that come again pass',
  async t => {
    const proxied = await startProxied(t, { objects })
    const { get, port, upstream } = proxied
    await answeredHere(proxied, '', 'v1', 'configmaps')
    const start = revisionIn(await get(maps))
    const path = `${maps}?watch=1&resourceVersion=${start}`
    const first = await watch(port, path)
    t.match(first.answer.headers['x-watchglass'], /^mirror/)
    await created(upstream.port, maps, configMap('b', '2'))
    decrypting(proxied)
    await putEncrypted(proxied, 'z')
    const text = await first.text
    t.match(text, /"name":"b"/)
    t.notMatch(text, /ERROR/, 'it ends in peace')
    const again = await watch(port, path)
    t.equal(again.answer.headers['x-watchglass'], 'pass; reason=inexact')
    again.answer.destroy()
    const state = await watch(port, `${maps}?watch=1`)
    t.equal(state.answer.headers['x-watchglass'], 'pass; reason=inexact')
    state.answer.destroy()
    await remove(proxied, 'z')
    const later = revisionIn(await get(maps))
    const after = await watch(port, `${maps}?watch=1&resourceVersion=${later}`)
    t.match(after.answer.headers['x-watchglass'], /^mirror/)
    after.answer.destroy()
    const before = await watch(port, path)
    t.equal(before.answer.headers['x-watchglass'], 'pass; reason=inexact', 'it would meet it again')
    before.answer.destroy()
  },
)

t.test('a watch in a form that no event has does not send others to the upstream', async t => {
  const proxied = await startProxied(t, { objects })
  const { get, port, upstream } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const path = `${maps}?watch=1&resourceVersion=${revisionIn(await get(maps))}`
  const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'
  let odd = await watch(port, path, { accept })
  while (String(odd.answer.headers['x-watchglass']).startsWith('pass')) {
    odd.answer.destroy()
    await moment()
    odd = await watch(port, path, { accept })
  }
  await created(upstream.port, maps, configMap('b', '2'))
  t.equal(await odd.text, '', 'it ends at its first event')
  for (const other of [path, `${maps}?watch=1`]) {
    const { answer } = await watch(port, other)
    t.match(answer.headers['x-watchglass'], /^mirror/, other)
    answer.destroy()
  }
})

t.test("a watch from before our history is the upstream's", async t => {
  const proxied = await startProxied(t, { objects })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const old = await watch(proxied.port, `${maps}?watch=1&resourceVersion=1`)
  t.equal(old.answer.headers['x-watchglass'], 'pass; reason=revision-not-kept')
  old.answer.destroy()
  const list = await proxied.get(`${maps}?resourceVersion=1&resourceVersionMatch=Exact`)
  t.equal(originOf(list), 'pass; reason=revision-not-kept')
})

t.test('a switch lets all reads pass and come back; open watches go on', async t => {
  const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const
  const proxied = await startProxied(t, { objects, service: { adminListen } })
  const { get, port, upstream, service } = proxied
  const { adminPort } = service
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const open = await watch(port, `${maps}?watch=1&resourceVersion=${revisionIn(await get(maps))}`)
  const put = (state: string): Promise<HttpAnswer> =>
    ask(adminPort, { method: 'PUT', path: `/pass-through?state=${state}` })
  t.equal((await put('on')).body.toString(), '{"passThrough":true}\n')
  t.equal(originOf(await get(maps)), 'pass; reason=switched-off')
  t.match(
    (await ask(adminPort, { path: '/metrics' })).body.toString(),
    /^watchglass_pass_through 1$/m,
  )
  await created(upstream.port, maps, configMap('b', '2'))
  service.readSwitch?.toggle()
  t.equal(originOf(await get(maps)), 'mirror; revision=N')
  t.equal(
    (await ask(adminPort, { path: '/pass-through' })).body.toString(),
    '{"passThrough":false}\n',
  )
  await open.begun
  open.answer.destroy()
  t.equal((await put('maybe')).status, 400)
  t.equal((await ask(adminPort, { method: 'POST', path: '/pass-through?state=on' })).status, 405)
  t.equal((await ask(adminPort, { path: '/nope' })).status, 404)
  for (const path of ['/livez', '/readyz', '/version']) {
    t.equal((await ask(adminPort, { path })).status, 200, path)
  }
  const counted = (await ask(adminPort, { path: '/metrics' })).body.toString()
  t.match(counted, /^watchglass_passed_requests_total\{reason="switched-off"\} 1$/m)
  t.match(counted, /^watchglass_upstream_up 1$/m)
  t.match(counted, /^watchglass_upstream_keyspaces\{proof="proven"\} [1-9]/m)
})

t.test('only what is to be kept is kept, and answered', async t => {
  const isKept = (prefix: string): boolean => prefix === '/registry/configmaps/'
  const secrets = '/api/v1/namespaces/default/secrets'
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, type: 'Opaque' }
  const all = [...objects, [secrets, secret]] as const
  const proxied = await startProxied(t, { objects: all, service: { isKept } })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  t.equal(originOf(await proxied.get(maps)), 'mirror; revision=N')
  const answer = await proxied.get(secrets)
  t.equal(originOf(answer), 'pass; reason=excluded')
  t.match(answer.body.toString(), /"name":"s"/)
  t.notOk(proxied.service.entries().has('/registry/secrets/'))
})

t.test('tokens that were encrypted here are opened before they pass', async t => {
  const encryption = createTokenEncryption(Buffer.alloc(32, 7).toString('base64'))
  const two = [...objects, [maps, configMap('b', '2')]] as const
  const proxied = await startProxied(t, { objects: two, service: { tokenEncryption: encryption } })
  const { get, upstream, service } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const page = await get(`${maps}?limit=1`)
  const { metadata } = JSON.parse(page.body.toString()) as { metadata: { continue: string } }
  t.match(metadata.continue, /^wg2\./)
  service.readSwitch?.set(true)
  const next = `${maps}?limit=1&continue=${encodeURIComponent(metadata.continue)}`
  const rest = await get(next)
  t.equal(originOf(rest), 'pass; reason=switched-off')
  t.equal(rest.status, 200)
  t.match(rest.body.toString(), /"name":"b"/)
  t.notOk(upstream.seen.some(({ url }) => url.includes('wg1.')))
})

t.test('what the mirror lacks passes eight at a time', async t => {
  const proxied = await startProxied(t, { objects })
  const { upstream, port, get } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const path = `${maps}?resourceVersion=1&resourceVersionMatch=Exact`
  const isOld = ({ url }: { readonly url: string }): boolean => url === path
  upstream.fault = seen => (isOld(seen) ? { type: 'hang' } : undefined)
  const requests = Array.from({ length: 8 }, (_, i) => {
    // Identical ones would share a question.
    const headers = { 'user-agent': `client-${i}` }
    const request = http.get({ port, host: '127.0.0.1', path, headers, agent: false })
    request.on('error', () => {})
    return request
  })
  while (upstream.seen.filter(isOld).length < 8) await get('/echo')
  const ninth = await get(path)
  t.equal(ninth.status, 429)
  t.equal(ninth.headers['retry-after'], '1')
  t.equal(originOf(ninth), 'pass; reason=revision-not-kept')
  t.match(ninth.body.toString(), /"reason":"TooManyRequests"/)
  t.equal(originOf(await get(maps)), 'mirror; revision=N', 'what the mirror has is answered')
  t.equal((await get(`${maps}?x=y`)).status, 200, 'and other requests pass')
  upstream.fault = () => undefined
  for (const request of requests) request.destroy()
  let { status } = await get(path)
  while (status === 429) ({ status } = await get(path))
  t.equal(upstream.seen.filter(isOld).length, 9, 'those that have left make room')
})
