/** Requests that are meant to be read in two ways: each is refused, or harmless. */

import { once } from 'node:events'
import * as http2 from 'node:http2'
import t from 'tap'
import { codeIn, head, raw } from '../../../support/http/raw-http.ts'
import {
  answeredHere,
  configMap,
  originOf,
  startProxied,
} from '../../../support/upstream/proxied.ts'

const maps = '/api/v1/namespaces/default/configmaps'

t.test('nobody is believed to be somebody else by a header', async t => {
  const { port, upstream } = await startProxied(t)
  const attacks: readonly (readonly string[])[] = [
    ['X-Remote-User: system:admin'],
    ['x-remote-user: system:admin', 'X-REMOTE-GROUP: system:masters'],
    ['X_Remote_User: system:admin', 'x-remote_group: system:masters'],
    ['X-Remote-Extra-Scopes: all', 'X-Remote-Uid: 0'],
    ['Connection: x-remote-user', 'X-Remote-User: system:admin'],
    ['Connection: close, X-Forwarded-For', 'X-Forwarded-For: 10.0.0.1'],
    ['Connection: keep-alive, host, x-forwarded-proto, x-forwarded-host'],
    ['X-Remote-User : system:admin'],
    ['X-Forwarded-For: a', ' X-Remote-User: system:admin'],
  ]
  for (const lines of attacks) {
    upstream.seen.length = 0
    const answer = await raw(port, head('GET /echo', ...lines, 'Connection: close'))
    const seen = upstream.seen.find(({ url }) => url === '/echo')
    const name = lines.join(' | ')
    if (seen === undefined) {
      t.equal(codeIn(answer), 400, `refused: ${name}`)
      continue
    }
    const names = seen.rawHeaders.filter((_, i) => i % 2 === 0).map(one => one.toLowerCase())
    t.notOk(
      names.some(one => one.replaceAll('_', '-').startsWith('x-remote-')),
      name,
    )
    for (const ours of ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'host']) {
      t.equal(names.filter(one => one === ours).length, 1, `${ours} is there once: ${name}`)
    }
    t.notMatch(String(seen.headers['x-forwarded-for']), /10\.0\.0\.1/)
  }
})

t.test('over HTTP/2 neither', async t => {
  const { port, upstream } = await startProxied(t)
  const session = http2.connect(`http://127.0.0.1:${port}`)
  t.teardown(() => session.destroy())
  const stream = session.request({ ':path': '/echo', 'x-remote-user': 'a', x_remote_group: 'b' })
  await new Promise(resolve => stream.once('response', resolve))
  const names = Object.keys(upstream.seen.find(({ url }) => url === '/echo')!.headers)
  t.notOk(names.some(name => name.replaceAll('_', '-').startsWith('x-remote-')))
  t.notOk(names.some(name => name.startsWith(':')))
})

t.test('over HTTP/2 only methods pass that begin no other protocol', async t => {
  const { port, upstream } = await startProxied(t)
  const session = http2.connect(`http://127.0.0.1:${port}`)
  t.teardown(() => session.destroy())
  const statusOf = async (method: string, path: string): Promise<number | undefined> => {
    const stream = session.request({ ':method': method, ':path': path }).end()
    const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    stream.resume()
    return headers[':status'] as number | undefined
  }
  t.equal(await statusOf('PRI', '/echo'), 400)
  t.notOk(upstream.seen.some(({ url }) => url?.startsWith('/echo')))
  t.equal(await statusOf('PURGE', '/echo'), 200)
  t.ok(upstream.seen.some(({ url, method }) => url === '/echo' && method === 'PURGE'))
})

t.test('no request hides in another', async t => {
  const { port, upstream } = await startProxied(t)
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n'
  const chunked = 'Transfer-Encoding: chunked'
  const attacks: readonly (readonly string[])[] = [
    ['Content-Length: 4', chunked],
    [chunked, 'Content-Length: 4'],
    ['Content-Length: 0', 'Content-Length: 44'],
    ['Content-Length: 0, 44'],
    ['Content-Length: +44'],
    ['Content-Length: 0x2c'],
    ['Transfer-Encoding: chunked, identity'],
    ['Transfer-Encoding: xchunked'],
    ['Transfer-Encoding: identity', chunked],
    ['Transfer-Encoding : chunked'],
    ['Transfer-Encoding:\u000bchunked'],
    ['Transfer_Encoding: chunked', 'Content-Length: 0'],
    ['A: b\nTransfer-Encoding: chunked'],
    ['A: b\rContent-Length: 44'],
    ['A: b\0c'],
  ]
  for (const lines of attacks) {
    upstream.seen.length = 0
    const answer = await raw(
      port,
      `${head('POST /echo', ...lines, 'Connection: close')}0\r\n\r\n${hidden}`,
    )
    const name = JSON.stringify(lines.join(' | '))
    t.notOk(
      upstream.seen.some(({ url }) => url === '/hidden'),
      name,
    )
    const isHarmless = lines.some(line => line.startsWith('Transfer_'))
    if (!isHarmless) t.equal(codeIn(answer), 400, name)
  }
})

t.test('a body that is cut short never becomes a whole one', async t => {
  const { port, upstream } = await startProxied(t)
  upstream.seen.length = 0
  const socket = raw(port, `${head('POST /echo', 'Content-Length: 100')}only this`)
  while (!upstream.seen.some(({ url }) => url === '/echo')) await new Promise(setImmediate)
  upstream.cut()
  const answer = await socket
  t.not(codeIn(answer), 400)
  t.notMatch(answer, /\r\n0\r\n\r\n$/, 'the echo has no end')
})

t.test("paths that servers read differently are the upstream's, as they were sent", async t => {
  const objects = [[maps, configMap('a', '1')]] as const
  const proxied = await startProxied(t, { objects })
  const { upstream, get } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  t.equal(originOf(await get(maps)), 'mirror; revision=N')
  const paths = [
    '/api/v1//configmaps',
    '//api/v1/configmaps',
    '/api/v1/./configmaps',
    '/api/v1/configmaps/../secrets',
    '/api/v1/%2e%2e/v1/configmaps',
    '/api/v1/configmaps%2f..%2fsecrets',
    '/api/v1/configmaps%5c',
    '/api/v1/namespaces/default%2Fconfigmaps',
    '/api/v1/configmaps/%00',
    '/api/v1/configmaps/%ff',
    '/echo/..;/configmaps',
  ]
  for (const path of paths) {
    upstream.seen.length = 0
    const answer = await raw(proxied.port, head(`GET ${path}`, 'Connection: close'))
    t.match(answer, /x-watchglass: pass/i, path)
    t.ok(upstream.last(path), 'nothing is resolved on the way')
  }
})

t.test('an absolute target does not choose the server', async t => {
  const { port, upstream } = await startProxied(t)
  const line = 'GET http://169.254.169.254/echo'
  const answer = await raw(port, head(line, 'Connection: close'))
  t.equal(codeIn(answer), 200)
  t.equal(upstream.last('/echo')?.headers.host, new URL(upstream.url).host)
})
