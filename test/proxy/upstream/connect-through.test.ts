/** An upstream that is reached through a proxy, below a path, under another name, or with
 *  credentials that it refuses. */

import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { silentLogger } from '../../../lib/base/logger.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { BalancedUpstream } from '../../../lib/proxy/upstream/balanced-upstream.ts'
import type { ForwardProxyAddress } from '../../../lib/proxy/upstream/connect-through.ts'
import { headerLines } from '../../../lib/proxy/upstream/header-lines.ts'
import { reasonFor } from '../../../lib/proxy/upstream/failure.ts'
import {
  defaultUpstreamTimeouts,
  UpstreamServer,
  type UpstreamTls,
} from '../../../lib/proxy/upstream/server.ts'

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)
const ca = pem('ca.pem')

async function listen(t: Test, server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const sockets = new Set<Socket>()
  server.on('connection', socket => sockets.add(socket))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** An upstream with TLS that answers with the path and who has asked. */
function startUpstream(t: Test, refuses = 'nothing'): Promise<number> {
  const tls = { cert: pem('server.pem'), key: pem('server.key') }
  const server = createTlsServer(tls, ({ url, headers }, response) => {
    const { authorization = '' } = headers
    response.statusCode = authorization === refuses ? 401 : 200
    response.end(`${url} ${authorization}`)
  })
  return listen(t, server)
}

interface Access {
  readonly url: string
  readonly tls?: UpstreamTls
  readonly through?: ForwardProxyAddress
  readonly credentials?: ConstructorParameters<typeof BalancedUpstream>[0]['credentials']
}

function upstreamAt(t: Test, { url, tls = { ca }, through, credentials }: Access) {
  const timeouts = { ...defaultUpstreamTimeouts, connectMs: 60_000 }
  const upstream = new BalancedUpstream({
    servers: [new UpstreamServer({ url: new URL(url), tls, through, timeouts })],
    credentials,
    timeouts,
    clock: systemClock,
    logger: silentLogger,
  })
  t.teardown(() => upstream.stop())
  const call = async (path: string): Promise<string> => {
    const { signal } = new AbortController()
    const request = { method: 'GET', path, headers: {}, signal }
    const { code, body } = await upstream.call(request, 'ourselves')
    return `${code} ${Buffer.from(body).toString()}`
  }
  return { upstream, call }
}

/** A proxy that answers CONNECT, to those who say who they are. */
async function startHttpProxy(t: Test, wanted: string, code = 200) {
  const asked: string[] = []
  const server = createHttpServer()
  server.on('connect', ({ url = '', headers }, client: Socket) => {
    asked.push(`${url} ${headers['proxy-authorization'] ?? ''}`)
    client.on('error', () => {})
    if (headers['proxy-authorization'] !== wanted || code !== 200) {
      client.end(`HTTP/1.1 ${code === 200 ? 407 : code} No\r\nContent-Length: 0\r\n\r\n`)
      return
    }
    const upstream = connect(Number(url.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n')
      upstream.pipe(client)
      client.pipe(upstream)
    })
    upstream.on('error', () => client.destroy())
  })
  return { port: await listen(t, server), asked }
}

/** A SOCKS5 proxy that gives its answers byte by byte. */
async function startSocksProxy(t: Test, method: number, reply: number) {
  const asked: string[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    serveSocks(socket, asked, { method, reply }).catch(() => socket.destroy())
  })
  return { port: await listen(t, server), asked }
}

async function serveSocks(
  socket: Socket,
  asked: string[],
  { method, reply }: { readonly method: number; readonly reply: number },
): Promise<void> {
  const take = async (count: number): Promise<Buffer> => {
    for (;;) {
      const bytes = socket.read(count) as Buffer | null
      if (bytes !== null) return bytes
      await new Promise(resolve => socket.once('readable', resolve))
    }
  }
  const answer = async (bytes: readonly number[]): Promise<void> => {
    for (const byte of bytes) {
      socket.write(Buffer.from([byte]))
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  const [, methods = 0] = await take(2)
  await take(methods)
  await answer([5, method])
  if (method === 2) {
    const [, nameLength = 0] = await take(2)
    const name = await take(nameLength)
    const [length = 0] = await take(1)
    const password = await take(length)
    asked.push(`${name.toString()}:${password.toString()}`)
    await answer([1, password.toString() === 'right' ? 0 : 1])
  }
  const [, , , kind] = await take(4)
  const [length = 0] = kind === 3 ? await take(1) : [4]
  const host = await take(length)
  const port = (await take(2)).readUInt16BE()
  asked.push(`${kind === 3 ? host.toString() : [...host].join('.')}:${port}`)
  await answer([5, reply, 0, 1, 0, 0, 0, 0, 0, 0])
  if (reply !== 0) return
  const upstream = connect(port, '127.0.0.1')
  upstream.on('error', () => socket.destroy())
  upstream.pipe(socket)
  socket.pipe(upstream)
}

const local = { host: '127.0.0.1', user: undefined }

t.test('an HTTP proxy opens a tunnel, in which TLS is with the upstream', async t => {
  const port = await startUpstream(t)
  const user = { name: 'u', password: 'p:w' }
  const proxy = await startHttpProxy(t, `Basic ${Buffer.from('u:p:w').toString('base64')}`)
  const through = { type: 'http', host: '127.0.0.1', port: proxy.port, user } as const
  const { call } = upstreamAt(t, { url: `https://localhost:${port}`, through })
  t.equal(await call('/a?b'), '200 /a?b ')
  t.equal(await call('/c'), '200 /c ')
  t.strictSame(new Set(proxy.asked), new Set([`localhost:${port} Basic dTpwOnc=`]))
  const { call: asNobody } = upstreamAt(t, {
    url: `https://[::1]:${port}`,
    through: { ...through, user: undefined },
  })
  const failure = await asNobody('/').catch((error: unknown) => reasonFor(error))
  t.equal(
    failure,
    `the upstream cannot be reached: the proxy 127.0.0.1:${proxy.port} opens no connection: it answers 407`,
  )
  t.equal(proxy.asked.at(-1), `[::1]:${port} `)
})

t.test('a SOCKS5 proxy resolves the name of the upstream', async t => {
  const port = await startUpstream(t)
  const open = await startSocksProxy(t, 0, 0)
  const through = { type: 'socks5', ...local, port: open.port } as const
  t.equal(await upstreamAt(t, { url: `https://localhost:${port}`, through }).call('/a'), '200 /a ')
  t.equal(await upstreamAt(t, { url: `https://127.0.0.1:${port}`, through }).call('/b'), '200 /b ')
  t.strictSame(open.asked, [`localhost:${port}`, `127.0.0.1:${port}`])
  const guarded = await startSocksProxy(t, 2, 0)
  const asUser = (password: string): Promise<string> => {
    const user = { name: 'u', password }
    const named = { type: 'socks5', host: '127.0.0.1', port: guarded.port, user } as const
    const { call } = upstreamAt(t, { url: `https://localhost:${port}`, through: named })
    return call('/').catch((error: unknown) => reasonFor(error))
  }
  t.equal(await asUser('right'), '200 / ')
  t.match(
    await asUser('wrong'),
    /opens no connection: it does not accept the user and the password$/,
  )
  t.strictSame(guarded.asked, ['u:right', `localhost:${port}`, 'u:wrong'])
})

t.test('a proxy that opens nothing is said to be the reason', async t => {
  const rows: readonly (readonly [ForwardProxyAddress['type'], number, RegExp])[] = [
    ['socks5', (await startSocksProxy(t, 255, 0)).port, /it accepts none of our ways to log in$/],
    ['socks5', (await startSocksProxy(t, 0, 2)).port, /its rules do not allow the connection$/],
    ['socks5', (await startSocksProxy(t, 0, 99)).port, /it answers 99$/],
    ['http', (await startHttpProxy(t, '', 503)).port, /it answers 503$/],
    ['https', (await startHttpProxy(t, '')).port, /opens no connection: /],
    ['http', 1, /ECONNREFUSED/],
    ['socks5', 1, /ECONNREFUSED/],
    [
      'socks5',
      await listen(
        t,
        createServer(socket => socket.end()),
      ),
      /it has closed the connection$/,
    ],
    [
      'http',
      await listen(
        t,
        createServer(socket => socket.end()),
      ),
      /socket hang up$/,
    ],
  ]
  for (const [type, port, reason] of rows) {
    const through = { type, ...local, port }
    const { call } = upstreamAt(t, { url: 'https://localhost:1', through })
    const failure = await call('/').catch((error: unknown) => reasonFor(error))
    t.match(failure, reason)
    t.match(failure, /^the upstream cannot be reached: the proxy 127\.0\.0\.1:/)
  }
})

t.test(
  'an API below a path, with a certificate of another name or none that is checked',
  async t => {
    const port = await startUpstream(t)
    const below = upstreamAt(t, { url: `https://localhost:${port}/k8s/clusters/c-1/` })
    t.equal(await below.call('/api?x=1'), '200 /k8s/clusters/c-1/api?x=1 ')
    const url = `https://127.0.0.2:${port}`
    const server = createServer(client => {
      const upstream = connect(port, '127.0.0.1')
      client.pipe(upstream).pipe(client)
      for (const socket of [client, upstream]) socket.on('error', () => client.destroy())
    })
    await new Promise<void>(resolve => server.listen(port, '127.0.0.2', resolve))
    t.teardown(() => server.close())
    await t.rejects(upstreamAt(t, { url }).call('/'))
    const named = { ca, serverName: 'localhost' }
    const misnamed = { ca, serverName: 'example.com' }
    t.equal(await upstreamAt(t, { url, tls: named }).call('/a'), '200 /a ')
    await t.rejects(upstreamAt(t, { url, tls: misnamed }).call('/'))
    t.equal(await upstreamAt(t, { url, tls: { isUnverified: true } }).call('/b'), '200 /b ')
  },
)

t.test('credentials that a server refuses are told of, and others are not', async t => {
  const port = await startUpstream(t, 'Bearer old')
  let token = 'old'
  const refused: string[] = []
  const { upstream, call } = upstreamAt(t, {
    url: `https://localhost:${port}`,
    credentials: async () => {
      const given = token
      return { headers: { authorization: `Bearer ${given}` }, refused: () => refused.push(given) }
    },
  })
  t.equal(await call('/'), '401 / Bearer old')
  const forward = async (as: 'caller' | 'ourselves'): Promise<number> => {
    const headers = headerLines(await upstream.credentials())
    const request = { method: 'GET', path: '/', headers, body: undefined, as }
    return new Promise((resolve, reject) => {
      upstream.forward(
        { ...request, isLongRunning: false, isIdentified: true },
        { started: resolve, data: () => true, ended() {}, failed: reject },
      )
    })
  }
  t.equal(await forward('ourselves'), 401)
  t.equal(await forward('caller'), 401)
  t.strictSame(refused, ['old', 'old'], "a caller's own credentials are not ours")
  token = 'new'
  t.equal(await call('/'), '200 / Bearer new')
  t.equal(await forward('ourselves'), 200)
  t.equal(refused.length, 2)
})
