import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import * as net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import type { Clock } from '../../../../lib/base/clock.ts'
import { beginBody, readBody } from '../../../../lib/cache/http/request/read-body.ts'
import type { HttpRequest, Handler } from '../../../../lib/cache/http/server/http-request.ts'
import { sendWhole, slowReaderTimeoutMs } from '../../../../lib/cache/http/server/respond.ts'
import { Server } from '../../../../lib/cache/http/server/server.ts'
import { readTls } from '../../../../lib/cache/http/server/tls.ts'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { isCollected } from '../../../support/program/collector.ts'

const certs = 'test/support/certs'
const ca = readFileSync(`${certs}/ca.pem`)
const loopback = { protocol: 'http', host: '127.0.0.1', port: 0 } as const

/** Answers with what it was asked, over what. */
const echo: Handler = request => {
  const subject = request.peer.certificate()?.subject
  request.respond(200, { 'content-type': 'text/plain', warning: ['a', 'b'] })
  request.end(
    Buffer.from(
      `${request.version} ${request.method} ${request.target} ${request.headers.host} ${String(subject?.CN ?? '-')}`,
    ),
  )
}

const onFault = (error: unknown): never => {
  throw error
}

async function serve(
  t: Test,
  handler: Handler,
  tls = false,
  clock: Clock = systemClock,
): Promise<Server> {
  const server = await Server.listen(
    tls
      ? {
          listen: { ...loopback, protocol: 'https' },
          handler,
          onFault,
          clock,
          tls: await readTls({
            certFile: `${certs}/server.pem`,
            keyFile: `${certs}/server.key`,
            clientCaFile: `${certs}/ca.pem`,
          }),
        }
      : { listen: loopback, handler, onFault, clock },
  )
  t.teardown(() => server.close())
  return server
}

async function bodyOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

function get1(
  options: https.RequestOptions & { secure?: boolean },
): Promise<{ status: number; body: string; headers: http.IncomingHttpHeaders }> {
  return new Promise((resolve, reject) => {
    const { request } = options.secure === true ? https : http
    request({ host: '127.0.0.1', agent: false, ...options }, response => {
      bodyOf(response).then(
        body => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }),
        reject,
      )
    })
      .on('error', reject)
      .end()
  })
}

async function get2(session: http2.ClientHttp2Session, path: string): Promise<string> {
  return bodyOf(session.request({ ':path': path }))
}

async function raw(port: number, text: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  socket.end(text)
  return bodyOf(socket)
}

t.test('a plain port speaks HTTP/1.1 and HTTP/2', async t => {
  const { port } = await serve(t, echo)
  const { status, body, headers } = await get1({ port, path: '/api//x%2f?a=%zz' })
  t.equal(status, 200)
  t.equal(body, `1.1 GET /api//x%2f?a=%zz 127.0.0.1:${port} -`)
  t.equal(headers.warning, 'a, b')
  const session = http2.connect(`http://127.0.0.1:${port}`)
  t.teardown(() => session.destroy())
  t.equal(await get2(session, '/a?b'), `2 GET /a?b 127.0.0.1:${port} -`)
  t.equal(session.remoteSettings.maxConcurrentStreams, 100, 'as long as nobody is known')
})

t.test('a client that is known may have more streams as it takes what it asked for', async t => {
  const { port } = await serve(t, request => {
    request.accept()
    request.respond(200, {})
    request.write(Buffer.alloc(1_000))
  })
  const limitOf = async (initialWindowSize: number): Promise<number | undefined> => {
    const session = http2.connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize } })
    t.teardown(() => session.destroy())
    await once(session, 'remoteSettings')
    const streams = Array.from({ length: 100 }, () => session.request({ ':path': '/' }))
    await Promise.all(streams.map(stream => once(stream.resume(), 'response')))
    await sleep(200)
    return session.remoteSettings.maxConcurrentStreams
  }
  const [taking, blocked] = await Promise.all([limitOf(65_535), limitOf(0)])
  t.equal(taking, 400)
  t.equal(blocked, 100, 'windows of zero take nothing')
})

t.test('a TLS port speaks both by ALPN, and knows verified client certificates only', async t => {
  const { port } = await serve(t, echo, true)
  const client = {
    cert: readFileSync(`${certs}/client.pem`),
    key: readFileSync(`${certs}/client.key`),
  }
  t.equal((await get1({ secure: true, port, path: '/', ca })).body, `1.1 GET / 127.0.0.1:${port} -`)
  t.equal(
    (await get1({ secure: true, port, path: '/', ca, ...client })).body,
    `1.1 GET / 127.0.0.1:${port} alice`,
  )
  const session = http2.connect(`https://127.0.0.1:${port}`, { ca, ...client })
  t.teardown(() => session.destroy())
  t.equal(await get2(session, '/'), `2 GET / 127.0.0.1:${port} alice`)
})

t.test('a replaced certificate serves the connections after it', async t => {
  const server = await serve(t, echo, true)
  const nameOf = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = https.get(
        { host: '127.0.0.1', port: server.port, ca, agent: false },
        response => {
          resolve((response.socket as TLSSocket).getPeerCertificate().subject.CN as string)
          response.resume()
        },
      )
      request.on('error', reject)
    })
  t.equal(await nameOf(), 'watchglass test server')
  server.replaceTls(
    await readTls({ certFile: `${certs}/renewed.pem`, keyFile: `${certs}/renewed.key` }),
  )
  t.equal(await nameOf(), 'watchglass renewed server')
})

t.test('files that make no TLS context are refused by name', async t => {
  await t.rejects(readTls({ certFile: 'nowhere.pem', keyFile: `${certs}/server.key` }), {
    code: 'invalid_request',
    message: /--tls-cert nowhere\.pem cannot be read/,
  })
  await t.rejects(readTls({ certFile: `${certs}/server.pem`, keyFile: `${certs}/client.key` }), {
    code: 'invalid_request',
    message: /^--tls-key .*client\.key is not the key of --tls-cert .*server\.pem$/,
  })
})

t.test('what is not HTTP, or has too much of a header, is answered and closed', async t => {
  const { port } = await serve(t, echo)
  t.match(await raw(port, 'hello\r\n\r\n'), /^HTTP\/1\.1 400 /)
  t.match(
    await raw(port, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`),
    /^HTTP\/1\.1 431 /,
  )
  t.match(
    await raw(
      port,
      'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ),
    /^HTTP\/1\.1 400 /,
  )
})

t.test('no line of headers is left out, however many there are', async t => {
  let groups = 0
  const { port } = await serve(t, request => {
    groups = String(request.headers['x-remote-group']).split(', ').length
    sendWhole(request, { status: 200, headers: {} }, Buffer.from(''))
  })
  const lines = 'X-Remote-Group: g\r\n'.repeat(3_000)
  const close = 'Connection: close\r\n'
  t.match(await raw(port, `GET / HTTP/1.1\r\nHost: a\r\n${close}${lines}\r\n`), /^HTTP\/1\.1 200 /)
  t.equal(groups, 3_000)
})

t.test('a port that is taken is refused with its address', async t => {
  const { port } = await serve(t, echo)
  await t.rejects(
    Server.listen({ listen: { ...loopback, port }, handler: echo, onFault, clock: systemClock }),
    {
      code: 'invalid_request',
      message: new RegExp(`cannot listen on 127.0.0.1:${port}`),
    },
  )
})

t.test(
  'an HTTP/2 connection without streams is closed in the end, one with a stream is not',
  async t => {
    let release = (): void => {}
    const server = await Server.listen({
      listen: loopback,
      handler(request) {
        request.respond(200, {})
        request.write(Buffer.from('first'))
        release = () => request.end(Buffer.from(' last'))
      },
      onFault,
      clock: systemClock,
      idleTimeoutMs: 20,
    })
    t.teardown(() => server.close())
    const busy = http2.connect(`http://127.0.0.1:${server.port}`)
    const stream = busy.request({ ':path': '/' })
    await once(stream, 'response')
    const idle = http2.connect(`http://127.0.0.1:${server.port}`)
    await once(idle, 'close')
    t.notOk(busy.closed)
    release()
    t.equal(await bodyOf(stream), 'first last')
    await once(busy, 'close')
  },
)

t.test('of an HTTP/2 connection that has ended nothing stays', async t => {
  let last: WeakRef<HttpRequest> | undefined
  const server = await serve(t, request => {
    last = new WeakRef(request)
    request.respond(200, {})
    request.end()
  })
  const session = http2.connect(`http://127.0.0.1:${server.port}`)
  await get2(session, '/')
  session.close()
  await once(session, 'close')
  t.ok(await isCollected(last!))
})

for (const version of ['1.1', '2'] as const) {
  t.test(`draining lets an HTTP/${version} response finish, and takes no more`, async t => {
    const begun: HttpRequest[] = []
    const server = await serve(t, request => {
      request.respond(200, {})
      request.write(Buffer.from('first '))
      begun.push(request)
      onBegun()
    })
    let onBegun = (): void => {}
    const started = new Promise<void>(resolve => (onBegun = resolve))
    const { port } = server
    const session = version === '2' ? http2.connect(`http://127.0.0.1:${port}`) : undefined
    t.teardown(() => session?.destroy())
    const answer =
      session === undefined
        ? get1({ port, path: '/' }).then(({ body }) => body)
        : get2(session, '/')
    await started
    const drained = server.drain()
    await t.rejects(get1({ port, path: '/' }))
    begun[0]?.end(Buffer.from('last'))
    t.equal(await answer, 'first last')
    await drained
  })

  t.test(
    `an HTTP/${version} client that does not take the end of its answer is cut off`,
    async t => {
      const clock = new FakeClock()
      let onClose = (): void => {}
      const closed = new Promise<void>(resolve => (onClose = resolve))
      const { port } = await serve(
        t,
        request => {
          request.onClose(onClose)
          request.respond(200, {})
          request.end(Buffer.alloc(64 * 1024 * 1024))
        },
        false,
        clock,
      )
      if (version === '2') {
        const session = http2.connect(`http://127.0.0.1:${port}`)
        t.teardown(() => session.destroy())
        session.on('error', () => {})
        const stream = session.request({ ':path': '/' })
        stream.on('error', () => {})
        await once(stream, 'response')
      } else {
        const request = http.get({ port, host: '127.0.0.1', agent: false })
        t.teardown(() => request.destroy())
        request.on('error', () => {})
        await once(request, 'response')
      }
      let isClosed = false
      void closed.then(() => (isClosed = true))
      await clock.advance(slowReaderTimeoutMs)
      t.notOk(isClosed, 'not before its time')
      await clock.advance(slowReaderTimeoutMs / 2)
      await closed
    },
  )

  t.test(`a handler is told when its HTTP/${version} client goes away`, async t => {
    let onGone = (): void => {}
    const gone = new Promise<void>(resolve => (onGone = resolve))
    const { port } = await serve(t, request => {
      request.onClose(onGone)
      request.respond(200, {})
      request.write(Buffer.from('first'))
    })
    if (version === '2') {
      const session = http2.connect(`http://127.0.0.1:${port}`)
      const stream = session.request({ ':path': '/' })
      stream.once('data', () => session.destroy())
    } else {
      const request = http.get({ port, host: '127.0.0.1' }, response =>
        response.once('data', () => request.destroy()),
      )
      request.on('error', () => {})
    }
    await gone
  })
}

t.test('requests that wait behind another add one listener to their connection', async t => {
  const held: HttpRequest[] = []
  const server = await serve(t, request => held.push(request))
  const socket = net.connect(server.port, '127.0.0.1')
  const warnings: Error[] = []
  const onWarning = (warning: Error): number => warnings.push(warning)
  process.on('warning', onWarning)
  t.teardown(() => {
    process.off('warning', onWarning)
    socket.destroy()
  })
  socket.write('HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(30))
  while (held.length < 30) await new Promise(resolve => setTimeout(resolve, 1))
  let lost = 0
  for (const request of held.slice(1)) request.onClose(() => lost++)
  socket.destroy()
  while (lost < 29) await new Promise(resolve => setTimeout(resolve, 1))
  t.strictSame(warnings, [])
})

t.test('a server that is about to stop has clients of HTTP/1.1 connect anew', async t => {
  const server = await serve(t, request => {
    request.respond(200, {})
    request.end(Buffer.from('served'))
  })
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const connectionOf = async (): Promise<string | undefined> => {
    const { headers, body } = await get1({ port: server.port, path: '/', agent })
    t.equal(body, 'served')
    return headers.connection
  }
  t.equal(await connectionOf(), 'keep-alive')
  server.leave()
  t.equal(await connectionOf(), 'close', 'on the connection that was kept')
  t.equal(await connectionOf(), 'close', 'on a new one, which is still served')
})

t.test('what is left of a body does not stand before the next request', async t => {
  const { port } = await serve(t, request => {
    const answer = (): void => {
      request.respond(200, {})
      request.end(Buffer.from('.'))
    }
    if (request.target === '/limited') {
      void readBody(request, { maxBytes: 10, endsAtMs: Infinity }, systemClock).then(answer)
    } else if (request.target === '/begun') {
      void beginBody(request, systemClock).then(async body => {
        const rest = body[Symbol.asyncIterator]()
        await rest.next()
        rest.next().catch(() => undefined)
        answer()
      })
    } else answer()
  })
  for (const target of ['/limited', '/begun', '/']) {
    const socket = net.connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    const bytes = 250_000
    socket.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`)
    socket.write(Buffer.alloc(100_000))
    await once(socket, 'data')
    socket.write(Buffer.alloc(bytes - 100_000))
    socket.write('GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.match(
      await Promise.race([bodyOf(socket), sleep(2000, 'nothing')]),
      /^HTTP\/1\.1 200 /,
      target,
    )
  }
})

/** A connection whose request is answered before its body has come. */
async function refused(t: Test, port: number, head: string): Promise<net.Socket> {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  socket.write(`${head}\r\nHost: x\r\n\r\n`)
  return socket
}

/** Sends a byte every so often until the connection is closed; returns the time that it took. */
async function dripped(clock: FakeClock, socket: net.Socket, everyMs: number): Promise<number> {
  const sinceMs = clock.monotonicMs()
  while (!socket.closed) {
    socket.write('x')
    await clock.advance(everyMs)
    // For the system to carry it.
    await sleep(1)
  }
  return clock.monotonicMs() - sinceMs
}

t.test('a client that drips what is left of a body is cut off', async t => {
  const clock = new FakeClock()
  const { port } = await serve(t, echo, false, clock)
  const socket = await refused(t, port, 'POST / HTTP/1.1\r\nContent-Length: 100000')
  await once(socket, 'data')
  t.ok((await dripped(clock, socket, 1_000)) >= 30_000, 'not before its time')
})

t.test('of a body without end so much is read, and then no more', async t => {
  const clock = new FakeClock()
  const { port } = await serve(t, echo, false, clock)
  const socket = await refused(t, port, 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked')
  let sent = 0
  const more = (): void => {
    while (!socket.destroyed && socket.write(`8000\r\n${'x'.repeat(0x8000)}\r\n`)) sent += 0x8000
  }
  socket.on('drain', more)
  more()
  t.match(await bodyOf(socket), /^HTTP\/1\.1 200 [^]*POST \/ x -/, 'the answer, and our end')
  await dripped(clock, socket, 500)
  t.ok(sent < 16 * 1024 * 1024, `${sent}`)
})

t.test('a client that announces too much is told that its connection ends', async t => {
  const clock = new FakeClock()
  const { port } = await serve(t, echo, false, clock)
  const socket = await refused(t, port, 'POST / HTTP/1.1\r\nContent-Length: 1000000')
  socket.write(Buffer.alloc(100_000))
  const answer = await bodyOf(socket)
  t.match(answer, /^HTTP\/1\.1 200 [^]*connection: close[^]*POST \/ x -/i)
  await dripped(clock, socket, 1_000)
})

for (const [what, head] of [
  ['a refused upgrade', 'GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: x'],
  ['what is no HTTP', 'nonsense'],
] as const) {
  t.test(`a client that stays after ${what} is cut off`, async t => {
    const clock = new FakeClock()
    const server = await Server.listen({
      listen: loopback,
      handler: echo,
      onFault,
      clock,
      takesUpgrades: 'all',
    })
    t.teardown(() => server.close())
    const socket = await refused(t, server.port, head)
    t.match(await bodyOf(socket), /^HTTP\/1\.1 [24]00 /)
    await dripped(clock, socket, 500)
  })
}
