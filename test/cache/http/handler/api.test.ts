import * as http2 from 'node:http2'
import * as net from 'node:net'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { keyFromText, singleKey } from '../../../../lib/base/keys.ts'
import { createTokenEncryption } from '../../../../lib/cli/commands/plan/token-encryption.ts'
import { configuredResource } from '../../../../lib/cli/commands/plan/configured-resources.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import { NotExact } from '../../../../lib/base/not-exact.ts'
import { RequestContext } from '../../../../lib/cache/http/request/request-context.ts'
import { defaultLimits } from '../../../../lib/cache/mirror/limits.ts'
import {
  ask,
  caughtUp,
  type HttpAnswer,
  type Served,
  startServed,
} from '../../../support/http/served.ts'
import { toyDefinition, toyDefinitionKey } from '../../../support/toys.ts'

async function put(served: Served, key: string, value: Uint8Array | object): Promise<number> {
  const bytes = value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value))
  const { header } = await served.client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText(key), value: bytes }],
    failure: [],
  })
  return header.revision
}

async function remove(served: Served, key: string): Promise<number> {
  const { header } = await served.client.txn({
    compares: [],
    success: [{ type: 'delete', range: singleKey(keyFromText(key)) }],
    failure: [],
  })
  return header.revision
}

function configMap(name: string, data: Record<string, string> = {}): Uint8Array {
  const metadata = { name, namespace: 'a', labels: { app: name.slice(0, 1) } }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
  const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  return stored
}

function putConfigMap(
  served: Served,
  name: string,
  data?: Record<string, string>,
): Promise<number> {
  return put(served, `/registry/configmaps/a/${name}`, configMap(name, data))
}

function get(
  served: Served,
  path: string,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  return ask(served.service.port, { path, headers })
}

interface Listed {
  readonly code?: number
  readonly message?: string
  readonly items?: readonly { readonly metadata: { readonly name: string } }[]
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string }
}

function parsed({ body }: HttpAnswer): Listed {
  return JSON.parse(body.toString()) as Listed
}

function names(answer: HttpAnswer): string[] | undefined {
  return parsed(answer).items?.map(({ metadata }) => metadata.name)
}

t.test('a write is seen by the next consistent list', async t => {
  const served = await startServed(t)
  for (const name of ['b', 'a', 'c']) {
    const revision = await putConfigMap(served, name)
    const answer = await get(served, '/api/v1/configmaps')
    t.ok(names(answer)?.includes(name))
    t.equal(parsed(answer).metadata.resourceVersion, String(revision))
  }
  await remove(served, '/registry/configmaps/a/b')
  t.strictSame(names(await get(served, '/api/v1/configmaps')), ['a', 'c'])
})

t.test('a get from memory makes no signal', async t => {
  const { prototype } = RequestContext
  const signal = Object.getOwnPropertyDescriptor(prototype, 'signal')!
  let asked = 0
  t.teardown(() => Object.defineProperty(prototype, 'signal', signal))
  Object.defineProperty(prototype, 'signal', {
    configurable: true,
    get(this: RequestContext): unknown {
      asked++
      return signal.get?.call(this)
    },
  })
  const served = await startServed(t)
  await caughtUp(served, await putConfigMap(served, 'a'))
  const path = '/api/v1/namespaces/a/configmaps/a'
  t.equal((await get(served, `${path}?resourceVersion=0`)).status, 200)
  t.equal(asked, 0)
  t.equal((await get(served, `${path}?timeout=5s`)).status, 200)
  t.equal(asked, 1, 'a limit of its time needs one')
})

t.test('pages stay at the revision of the first while objects come and go', async t => {
  const served = await startServed(t)
  for (const name of ['a', 'b', 'c', 'd']) await putConfigMap(served, name)
  const first = await get(served, '/api/v1/namespaces/a/configmaps?limit=2')
  await remove(served, '/registry/configmaps/a/c')
  await putConfigMap(served, 'e')
  const token = parsed(first).metadata.continue ?? ''
  const second = await get(served, `/api/v1/namespaces/a/configmaps?limit=2&continue=${token}`)
  t.strictSame([...names(first)!, ...names(second)!], ['a', 'b', 'c', 'd'])
})

t.test('an exact list of before the mirror began is answered by etcd', async t => {
  const served = await startServed(t)
  await putConfigMap(served, 'a')
  const revision = await putConfigMap(served, 'b')
  await remove(served, '/registry/configmaps/a/a')
  const late = await startServed(t, { client: served.client })
  const path = `/api/v1/configmaps?resourceVersion=${revision}&resourceVersionMatch=Exact`
  t.strictSame(names(await get(late, path)), ['a', 'b'])
  t.strictSame(names(await get(late, '/api/v1/configmaps')), ['b'])
})

t.test('a large body is compressed for those who take it, and is the same', async t => {
  const served = await startServed(t)
  for (let i = 0; i < 8; i++) await putConfigMap(served, `m${i}`, { x: `${i}`.repeat(200_000) })
  const path = '/api/v1/configmaps'
  const plain = await get(served, path)
  const zipped = await get(served, path, { 'accept-encoding': 'br, gzip' })
  t.equal(zipped.headers['content-encoding'], 'gzip')
  t.equal(zipped.headers.vary, 'Accept-Encoding')
  t.ok(zipped.body.length < plain.body.length / 10)
  t.ok(gunzipSync(zipped.body).equals(plain.body))
  const quality = await get(served, path, { 'accept-encoding': 'gzip;q=1' })
  t.equal(quality.headers['content-encoding'], undefined)
  const one = await get(served, '/api/v1/namespaces/a/configmaps/m0', { 'accept-encoding': 'gzip' })
  t.equal(one.headers['content-encoding'], 'gzip')
  const small = await get(served, '/api/v1/secrets', { 'accept-encoding': 'gzip' })
  t.equal(small.headers['content-encoding'], undefined)
})

t.test('an object that cannot be shown exactly is said to be so, and never left out', async t => {
  const served = await startServed(t)
  await putConfigMap(served, 'a')
  await put(served, '/registry/configmaps/a/b', Buffer.from('k8s:enc:aescbc:v1:key1:secret'))
  for (const path of [
    '/api/v1/configmaps',
    '/api/v1/namespaces/a/configmaps/b',
    '/api/v1/configmaps?labelSelector=app%3Da',
  ]) {
    const answer = await get(served, path)
    t.equal(answer.status, 500, path)
    t.match(parsed(answer).message, /cannot be served exactly .*: value is encrypted$/)
  }
  t.equal((await get(served, '/api/v1/namespaces/a/configmaps/a')).status, 200)
})

t.test('when an object in the later part of a list is not exact, the list is cut off', async t => {
  const served = await startServed(t)
  for (let i = 0; i < 100; i++) {
    await putConfigMap(served, `m${String(i).padStart(3, '0')}`, { x: 'x'.repeat(30_000) })
  }
  await put(served, '/registry/configmaps/a/z', Buffer.from('k8s:enc:x'))
  await t.rejects(get(served, '/api/v1/configmaps'), { code: 'ECONNRESET' })
  await t.rejects(get(served, '/api/v1/configmaps', { 'accept-encoding': 'gzip' }), {
    code: 'ECONNRESET',
  })
})

t.test('definitions come, change and go while it runs', async t => {
  const served = await startServed(t)
  const toy = (name: string, color: string, size: number): object => ({
    apiVersion: 'example.com/v1',
    kind: 'Toy',
    metadata: { name, namespace: 'a' },
    spec: { color, size },
  })
  await put(served, '/registry/example.com/toys/a/car', toy('car', 'red', 2))
  t.equal((await get(served, '/apis/example.com/v1/toys')).status, 404)
  await caughtUp(served, await put(served, toyDefinitionKey, toyDefinition(['color'])))
  t.strictSame(names(await get(served, '/apis/example.com/v1/toys')), ['car'])
  t.match((await get(served, '/apis')).body.toString(), /"example\.com\/v1"/)
  await put(served, '/registry/example.com/toys/a/ship', toy('ship', 'blue', 3))
  const blue = '/apis/example.com/v1/toys?fieldSelector=spec.color%3Dblue'
  for (let i = 0; i < 3; i++) t.strictSame(names(await get(served, blue)), ['ship'])
  await caughtUp(served, await put(served, toyDefinitionKey, toyDefinition(['size'], ['v1', 'v2'])))
  t.equal((await get(served, blue)).status, 400)
  const size = '/apis/example.com/v2/toys?fieldSelector=spec.size%3D3'
  for (let i = 0; i < 3; i++) t.strictSame(names(await get(served, size)), ['ship'])
  await caughtUp(served, await remove(served, toyDefinitionKey))
  t.equal((await get(served, '/apis/example.com/v1/toys')).status, 404)
  t.notMatch((await get(served, '/apis')).body.toString(), /"example\.com\/v1"/)
})

t.test('an index that a selector has brought about answers as a scan does', async t => {
  const served = await startServed(t)
  const all = Array.from({ length: 40 }, (_, i) => `${'abcd'.charAt(i % 4)}${i}`)
  for (const name of all) await putConfigMap(served, name)
  const path = '/api/v1/configmaps?labelSelector=app%3Db'
  const expected = all.filter(name => name.startsWith('b')).sort()
  for (let i = 0; i < 3; i++) t.strictSame(names(await get(served, path)), expected)
  await putConfigMap(served, 'b99')
  await remove(served, '/registry/configmaps/a/b1')
  t.strictSame(names(await get(served, path)), [...expected.slice(1), 'b99'])
})

t.test('encrypted tokens lead on, plain ones still do, and changed ones have expired', async t => {
  const encryption = createTokenEncryption(Buffer.alloc(32, 7).toString('base64'))
  const served = await startServed(t, { tokenEncryption: encryption })
  for (const name of ['a', 'b', 'c']) await putConfigMap(served, name)
  const page = '/api/v1/configmaps?limit=1'
  const token = parsed(await get(served, page)).metadata.continue ?? ''
  t.match(token, /^wg2\./)
  t.strictSame(names(await get(served, `${page}&continue=${token}`)), ['b'])
  const plain = encryption.decrypt(token, keyFromText('/registry/configmaps/')) ?? ''
  t.strictSame(names(await get(served, `${page}&continue=${plain}`)), ['b'])
  t.equal((await get(served, `${page}&continue=${token.slice(0, -4)}AAAA`)).status, 410)
})

t.test('configured resources are served from wherever they are stored', async t => {
  const row = {
    group: 'wardle.example.com',
    version: 'v1',
    resource: 'flunders',
    kind: 'Flunder',
    scope: 'Namespaced',
    prefix: '/elsewhere/flunders',
    selectableFields: [{ jsonPath: '.spec.reference' }],
  }
  const served = await startServed(t, { configured: [configuredResource(row)] })
  // As Go writes it: kind first, and a null where there was no time.
  const flunder = (name: string, reference: string): Buffer =>
    Buffer.from(
      `{"kind":"Flunder","apiVersion":"wardle.example.com/v1","metadata":{"name":"${name}","namespace":"a","creationTimestamp":null},"spec":{"reference":"${reference}"}}\n`,
    )
  await put(served, '/elsewhere/flunders/a/x', flunder('x', 'y'))
  const path = '/apis/wardle.example.com/v1/flunders'
  t.strictSame(names(await get(served, path)), ['x'])
  t.strictSame(names(await get(served, `${path}?fieldSelector=spec.reference%3Dz`)), [])
  t.match((await get(served, '/apis')).body.toString(), /wardle\.example\.com/)
  const protobuf = await get(served, path, { accept: 'application/vnd.kubernetes.protobuf' })
  t.equal(protobuf.status, 406)
})

t.test('a read that cannot be fresh in time is told when to try again', async t => {
  const limits = { ...defaultLimits, readWaitMaxMs: 20 }
  const served = await startServed(t, { limits })
  await caughtUp(served, await putConfigMap(served, 'a'))
  const { status, headers, body } = await get(served, '/api/v1/configmaps?resourceVersion=1000')
  t.equal(status, 504)
  t.equal(headers['retry-after'], '1')
  t.match(body.toString(), /Too large resource version: 1000, current: 2/)
})

t.test('HTTP/2 answers the same, also methods that no HTTP/1.1 parser takes', async t => {
  const served = await startServed(t)
  await putConfigMap(served, 'a')
  const session = http2.connect(`http://127.0.0.1:${served.service.port}`)
  t.teardown(() => session.destroy())
  const request = async (headers: http2.OutgoingHttpHeaders): Promise<[number, string]> => {
    const stream = session.request(headers)
    let status = 0
    stream.on('response', got => (status = got[':status'] ?? 0))
    let body = ''
    for await (const piece of stream as AsyncIterable<Buffer>) body += piece.toString()
    return [status, body]
  }
  const path = '/api/v1/configmaps'
  const [status, body] = await request({ ':path': path })
  t.equal(status, 200)
  t.equal(body, (await get(served, path)).body.toString())
  t.strictSame((await request({ ':path': path, ':method': 'FOO' }))[0], 405)
  t.strictSame((await request({ ':path': path, ':method': 'HEAD' }))[0], 405)
  t.strictSame(await request({ ':path': '/api/%zz' }), [400, '400 Bad Request'])
})

t.test('the aggregated documents are not sent again to who has them', async t => {
  const served = await startServed(t)
  const accept =
    'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
  const first = await get(served, '/apis', { accept })
  const etag = String(first.headers.etag)
  const again = await get(served, '/apis', { accept, 'if-none-match': etag })
  t.equal(again.status, 304)
  t.equal(again.body.length, 0)
  t.equal((await get(served, '/apis', { accept: 'application/json' })).headers.etag, undefined)
})

t.test('documents of OpenAPI are kept by their hash', async t => {
  const served = await startServed(t)
  const index = JSON.parse((await get(served, '/openapi/v3')).body.toString()) as {
    paths: Record<string, { serverRelativeURL: string }>
  }
  const url = index.paths['apis/apps/v1']?.serverRelativeURL ?? ''
  const kept = await get(served, url)
  t.equal(kept.headers['cache-control'], 'public, immutable')
  t.equal(`"${url.split('=')[1]}"`, kept.headers.etag)
  const moved = await get(served, '/openapi/v3/apis/apps/v1?hash=AB')
  t.equal(moved.status, 301)
  t.equal(moved.headers.location, url)
  const plain = await get(served, '/openapi/v3/apis/apps/v1')
  t.equal(plain.headers['cache-control'], 'no-cache, private')
  t.ok(plain.body.equals(kept.body))
  for (const path of ['/openapi/v2', '/openapi/v3', '/openapi/v3/apis/apps/v1']) {
    const { headers } = await get(served, path)
    const again = await get(served, path, { 'if-none-match': String(headers.etag) })
    t.equal(again.status, 304, path)
  }
  t.equal((await get(served, '/openapi/v3/apis/nothing/v1')).status, 404)
  t.equal((await get(served, '/openapi/v2', { accept: 'text/html' })).status, 406)
})

t.test('a client that leaves in the middle of a list ends the work', async t => {
  const served = await startServed(t)
  for (let i = 0; i < 60; i++) await putConfigMap(served, `m${i}`, { x: 'x'.repeat(200_000) })
  await get(served, '/api/v1/configmaps?limit=1')
  for (const extra of ['', 'Accept-Encoding: gzip\r\n']) {
    const socket = net.connect(served.service.port, '127.0.0.1')
    socket.write(`GET /api/v1/configmaps HTTP/1.1\r\nHost: a\r\n${extra}\r\n`)
    await new Promise(resolve => socket.once('data', resolve))
    socket.destroy()
  }
  // Draining waits for work under way: if any went on for a client that has gone, this would not
  // end.
  await served.service.stop()
})

t.test('health is told check by check', async t => {
  const served = await startServed(t)
  await caughtUp(served, 1)
  const cases: readonly (readonly [string, number, string])[] = [
    ['/livez', 200, 'ok'],
    ['/livez?verbose', 200, '[+]ping ok\nlivez check passed\n'],
    ['/readyz/mirror', 200, 'ok'],
    [
      '/readyz?verbose&exclude=mirror',
      200,
      '[+]ping ok\n[+]mirror excluded: ok\n[+]etcd ok\n[+]shutdown ok\nreadyz check passed\n',
    ],
    [
      '/livez?verbose=false&exclude=ping&exclude=z&exclude=a%0A',
      200,
      '[+]ping excluded: ok\nwarn: some health checks cannot be excluded: no matches for "a\\n","z"\nlivez check passed\n',
    ],
    ['/readyz/nothing', 404, '404 page not found\n'],
    ['/healthz', 200, 'ok'],
  ]
  for (const [path, status, body] of cases) {
    const answer = await get(served, path)
    t.equal(answer.status, status, path)
    t.equal(answer.body.toString(), body, path)
  }
})

t.test('what is served and how long it took is shown as metrics', async t => {
  const served = await startServed(t)
  await caughtUp(served, await putConfigMap(served, 'a'))
  await get(served, '/api/v1/configmaps?labelSelector=app%3Da')
  await get(served, '/api/v1/namespaces/a/configmaps/b')
  await get(served, '/api/v1/nothing')
  await get(served, '/apis')
  const text = (await get(served, '/metrics')).body.toString()
  const labels = (more: string): string => `watchglass_requests_total{${more}} 1`
  for (const line of [
    labels(
      'verb="list",group="",version="v1",resource="configmaps",code="200",source="mirror",label_selector="true",field_selector="false"',
    ),
    labels(
      'verb="get",group="",version="v1",resource="configmaps",code="404",source="mirror",label_selector="false",field_selector="false"',
    ),
  ]) {
    t.ok(text.includes(line), line)
  }
  for (const name of [
    'watchglass_requests_total{verb="",.*code="404",source="refused"',
    'watchglass_requests_total{verb="",.*code="200",source="own"',
    'watchglass_request_duration_seconds_count{.*verb="list".*} 1',
    'watchglass_mirror_read_wait_seconds_count{freshness="consistent"} 2',
    'watchglass_segments \\d+',
    'watchglass_segments_bytes \\d+',
    'nodejs_eventloop_lag_p99_seconds',
    'process_resident_memory_bytes',
  ]) {
    t.match(text, new RegExp(`^${name.replace('{', '\\{')}`, 'm'))
  }
})
