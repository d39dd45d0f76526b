/** Connections over HTTP/1.1 from their first request on: those of ours, those that become Node's,
 *  and what both must give back. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http from 'node:http'
import * as https from 'node:https'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { HttpRequest, Handler } from '../../../../../lib/cache/http/server/http-request.ts'
import { sendWhole } from '../../../../../lib/cache/http/server/respond.ts'
import { Server } from '../../../../../lib/cache/http/server/server.ts'
import { systemClock } from '../../../../../lib/cache/ops/system.ts'
import { connect, type Address, protocols } from '../../../../support/attacks/ask.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'
import { head } from '../../../../support/http/raw-http.ts'

interface Serving extends Address {
  readonly server: Server
  readonly faults: unknown[]
}

async function serve(
  t: Test,
  protocol: Address['protocol'],
  handler: Handler,
  clock = systemClock,
): Promise<Serving> {
  const [cert, key] = ['pem', 'key'].map(end => readFileSync(`test/support/certs/server.${end}`))
  const faults: unknown[] = []
  const server = await Server.listen({
    listen: { protocol, host: '127.0.0.1', port: 0 },
    tls: { cert, key },
    clock,
    onFault: error => faults.push(error),
    handler,
  })
  t.teardown(() => server.close())
  return { protocol, port: server.port, server, faults }
}

/** Answers with what was asked, and with the body. */
async function echo(request: HttpRequest): Promise<void> {
  const pieces: Buffer[] = [Buffer.from(`<${request.method} ${request.target} `)]
  for await (const piece of request.body as AsyncIterable<Buffer>) pieces.push(piece)
  sendWhole(request, { status: 200, headers: {} }, ...pieces, Buffer.from('>'))
}

/** The text that comes over a connection. */
class Received {
  text = ''
  isClosed = false
  readonly #socket: Socket

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (piece: Buffer) => (this.text += piece.toString('latin1')))
    socket.on('close', () => (this.isClosed = true))
  }

  async until(isEnough: (received: Received) => boolean): Promise<void> {
    while (!isEnough(this)) {
      const left = new AbortController()
      const events = ['data', 'close'].map(name => once(this.#socket, name, left))
      await Promise.race(events)
      left.abort()
    }
  }

  async untilHas(text: string): Promise<void> {
    await this.until(({ text: all, isClosed }) => all.includes(text) || isClosed)
  }

  /** Answers of `echo`, in its order. */
  get echoes(): readonly string[] {
    return this.text.match(/<[^>]*>/g) ?? []
  }
}

const get = (path: string, ...headers: string[]): string => head(`GET ${path}`, ...headers)

for (const protocol of protocols) {
  t.test(`over ${protocol} requests of all kinds follow each other`, async t => {
    const address = await serve(t, protocol, one => void echo(one))
    const socket = await connect(address)
    t.teardown(() => socket.destroy())
    const received = new Received(socket)
    const asked: readonly (readonly [string, string])[] = [
      [get('/1'), '<GET /1 >'],
      [get('/2', 'A: b'), '<GET /2 >'],
      [`${head('POST /3', 'Content-Length: 4')}body`, '<POST /3 body>'],
      [get('/4'), '<GET /4 >'],
      [get('/5') + get('/6') + get('/7'), '<GET /7 >'],
    ]
    for (const [request, echoed] of asked) {
      socket.write(request)
      await received.untilHas(echoed)
    }
    t.strictSame(received.echoes, [
      ...asked.slice(0, 4).map(([, echoed]) => echoed),
      '<GET /5 >',
      '<GET /6 >',
      '<GET /7 >',
    ])
    t.strictSame(address.faults, [])
  })

  t.test(`over ${protocol} a request may come in any pieces`, async t => {
    const address = await serve(t, protocol, one => void echo(one))
    const request = get('/whole', 'Accept: a')
    for (let at = 1; at < request.length; at += 7) {
      const socket = await connect(address)
      const received = new Received(socket)
      socket.write(get('/first'))
      await received.untilHas('<GET /first >')
      socket.write(request.slice(0, at))
      await new Promise(resolve => setImmediate(resolve))
      socket.write(request.slice(at))
      await received.untilHas('<GET /whole >')
      socket.destroy()
    }
  })

  t.test(
    `over ${protocol} many requests that are sent ahead are answered in their order`,
    async t => {
      const address = await serve(t, protocol, one => void echo(one))
      const asked = Array.from({ length: 300 }, (_, i) => `/${i}`)
      const bytes = asked.map(path => get(path, 'Accept: a')).join('')
      for (const cut of [bytes.length, 100, 4_000]) {
        const socket = await connect(address)
        const received = new Received(socket)
        for (let at = 0; at < bytes.length; at += cut) {
          socket.write(bytes.slice(at, at + cut))
          if (cut > 100 || at < 1_000) await new Promise(resolve => setImmediate(resolve))
        }
        await received.untilHas('<GET /299 >')
        t.strictSame(
          received.echoes,
          asked.map(path => `<GET ${path} >`),
          `${cut}`,
        )
        socket.destroy()
      }
      t.strictSame(address.faults, [])
    },
  )

  t.test(`over ${protocol} a request that stays unfinished ends its connection`, async t => {
    const clock = new FakeClock()
    const address = await serve(t, protocol, one => void echo(one), clock)
    const socket = await connect(address)
    const received = new Received(socket)
    socket.write(get('/1') + get('/2').slice(0, 9))
    await received.untilHas('<GET /1 >')
    for (let i = 0; i < 3; i++) {
      await clock.advance(9_000)
      socket.write('x')
      await new Promise(resolve => setTimeout(resolve, 5))
      t.notOk(received.isClosed)
    }
    await clock.advance(9_000)
    await received.until(({ isClosed }) => isClosed)
    t.strictSame(received.echoes, ['<GET /1 >'])
  })

  t.test(`over ${protocol} what comes before its turn waits for it`, async t => {
    const begun: HttpRequest[] = []
    const address = await serve(t, protocol, request => {
      begun.push(request)
      if (request.target !== '/slow') void echo(request)
    })
    const socket = await connect(address)
    t.teardown(() => socket.destroy())
    const received = new Received(socket)
    socket.write(get('/slow'))
    while (begun.length === 0) await new Promise(resolve => setImmediate(resolve))
    const post = `${head('POST /b', 'Content-Length: 1')}x`
    for (const piece of [get('/a'), post.slice(0, 20), post.slice(20)]) {
      socket.write(piece)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    t.equal(begun.length, 1)
    sendWhole(begun[0]!, { status: 200, headers: {} }, Buffer.from('<slow>'))
    await received.untilHas('<POST /b x>')
    t.strictSame(received.echoes, ['<slow>', '<GET /a >', '<POST /b x>'])
  })

  t.test(`over ${protocol} a flood behind a request closes the connection`, async t => {
    let onClose = (): void => {}
    const closed = new Promise<void>(resolve => (onClose = resolve))
    const address = await serve(t, protocol, request => request.onClose(onClose))
    const socket = await connect(address)
    socket.on('close', () => clearInterval(flooding))
    socket.write(get('/'))
    const flooding = setInterval(() => socket.write(get('/again').repeat(100)), 1)
    await closed
    t.equal(address.server.requestsInFlight, 0)
  })

  t.test(`over ${protocol} a client that leaves is noticed, and its handler is told`, async t => {
    for (const leaves of ['end', 'destroy'] as const) {
      let onClose = (): void => {}
      const closed = new Promise<void>(resolve => (onClose = resolve))
      let onBegun = (): void => {}
      const begun = new Promise<void>(resolve => (onBegun = resolve))
      const address = await serve(t, protocol, request => {
        request.onClose(onClose)
        onBegun()
      })
      const socket = await connect(address)
      socket.resume()
      socket.write(get('/'))
      await begun
      socket[leaves]()
      await closed
      t.equal(address.server.requestsInFlight, 0, leaves)
    }
  })

  t.test(`over ${protocol} bodies of all kinds arrive whole`, async t => {
    const large = Buffer.alloc(200_000, 'abcdefghij')
    const bodies: Record<string, (request: HttpRequest) => void> = {
      '/whole': one => sendWhole(one, { status: 200, headers: {} }, large, Buffer.from('end')),
      '/nothing': one => sendWhole(one, { status: 200, headers: {} }),
      '/chunks'(one) {
        one.respond(200, { trailer: 'x-after', 'x-many': ['1', '2'] })
        one.flush()
        one.write(Buffer.from('a'))
        one.write(Buffer.alloc(0))
        one.write(large)
        one.end(Buffer.from('end'), { 'x-after': 'late' })
      },
      '/length'(one) {
        one.respond(200, { 'content-length': '3', date: 'today' })
        one.write(Buffer.from('en'))
        one.end(Buffer.from('d'))
      },
      '/204': one => sendWhole(one, { status: 204, headers: {} }),
      '/304'(one) {
        one.respond(304, { etag: '"a"' })
        one.end(Buffer.from('not sent'))
      },
    }
    const address = await serve(t, protocol, request => bodies[request.target]!(request))
    const { request, Agent } = protocol === 'http' ? http : https
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    const sockets = new Set<Socket>()
    const ask = async (path: string): Promise<http.IncomingMessage & { text: string }> => {
      const options = {
        host: '127.0.0.1',
        port: address.port,
        path,
        agent,
        rejectUnauthorized: false,
      }
      const sent = request(options)
      sent.on('socket', socket => sockets.add(socket))
      sent.end()
      const [response] = (await once(sent, 'response')) as [http.IncomingMessage]
      const pieces: Buffer[] = []
      for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece)
      return Object.assign(response, { text: Buffer.concat(pieces).toString() })
    }
    const whole = await ask('/whole')
    t.equal(whole.text, `${large.toString()}end`)
    t.match(whole.headers, { 'content-length': '200003', 'keep-alive': 'timeout=90' })
    t.ok(Math.abs(Date.parse(whole.headers.date ?? '') - Date.now()) < 60_000)
    t.equal((await ask('/nothing')).text, '')
    const chunks = await ask('/chunks')
    t.equal(chunks.text, `a${large.toString()}end`)
    t.match(chunks.headers, { 'transfer-encoding': 'chunked', 'x-many': '1, 2' })
    t.equal(chunks.trailers['x-after'], 'late')
    const length = await ask('/length')
    t.match(length, { text: 'end', headers: { 'content-length': '3', date: 'today' } })
    for (const path of ['/204', '/304']) {
      const empty = await ask(path)
      t.equal(empty.text, '')
      t.equal(empty.headers['transfer-encoding'], undefined)
    }
    t.equal(sockets.size, 1, 'over one connection')
    t.strictSame(address.faults, [])
  })

  t.test(`over ${protocol} the last answer of a connection says so`, async t => {
    const address = await serve(t, protocol, request => {
      const headers: Record<string, string> =
        request.target === '/bad' ? { connection: 'close' } : {}
      sendWhole(request, { status: 200, headers }, Buffer.from('x'))
    })
    for (const request of [get('/', 'Connection: close'), get('/bad')]) {
      const socket = await connect(address)
      const received = new Received(socket)
      socket.write(request)
      await received.until(({ isClosed }) => isClosed)
      t.match(received.text, /\r\nconnection: close\r\n/i)
      t.equal(received.text.match(/connection:/gi)?.length, 1)
      t.ok(received.text.endsWith('\r\n\r\nx'))
    }
  })

  t.test(`over ${protocol} idle connections end in time`, async t => {
    const clock = new FakeClock()
    const address = await serve(t, protocol, one => void echo(one), clock)
    const sockets = await Promise.all([connect(address), connect(address), connect(address)])
    const [mute, idle, used] = sockets.map(socket => new Received(socket))
    sockets[1]!.write(get('/'))
    sockets[2]!.write(get('/'))
    await idle!.untilHas('<GET / >')
    await used!.untilHas('<GET / >')
    await clock.advance(31_000)
    if (protocol === 'https') await mute!.until(({ isClosed }) => isClosed)
    await clock.advance(30_000)
    sockets[2]!.write(get('/again'))
    await used!.untilHas('<GET /again >')
    await clock.advance(30_000)
    await idle!.until(({ isClosed }) => isClosed)
    t.notOk(used!.isClosed)
    await clock.advance(61_000)
    await used!.until(({ isClosed }) => isClosed)
    sockets[0]!.destroy()
  })

  t.test(
    `over ${protocol} a drain closes idle connections, and the others after their answer`,
    async t => {
      const held: HttpRequest[] = []
      const address = await serve(t, protocol, request => {
        if (request.target === '/held') held.push(request)
        else void echo(request)
      })
      const [idle, busy] = await Promise.all([connect(address), connect(address)])
      const [idles, busys] = [new Received(idle), new Received(busy)]
      idle.write(get('/'))
      await idles.untilHas('<GET / >')
      busy.write(get('/held'))
      while (held.length === 0) await new Promise(resolve => setImmediate(resolve))
      const drained = address.server.drain()
      await idles.until(({ isClosed }) => isClosed)
      void echo(held[0]!)
      await busys.until(({ isClosed }) => isClosed)
      t.match(busys.text, /\r\nConnection: close\r\n[^]*<GET \/held >$/)
      await drained
    },
  )
}

t.test('connections whose answers end in one turn are closed once each', async t => {
  const warnings: string[] = []
  const note = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const held: HttpRequest[] = []
  const address = await serve(t, 'http', request => {
    request.respond(200, {})
    request.write(Buffer.from('first '))
    held.push(request)
  })
  const sockets = await Promise.all(Array.from({ length: 20 }, () => connect(address)))
  const received = sockets.map(socket => new Received(socket))
  for (const socket of sockets) socket.write(get('/'))
  for (const one of received) await one.untilHas('first ')
  const drained = address.server.drain()
  for (const request of held) request.end(Buffer.from('last'))
  for (const one of received) await one.until(({ isClosed }) => isClosed)
  for (const { text } of received) t.match(text, 'last')
  await drained
  t.strictSame(warnings, [], 'no socket was told twice')
})

t.test('a header cannot end the headers', async t => {
  for (const headers of [{ a: 'b\r\nc: d' }, { 'a\r\nb': 'c' }, { a: ['b', 'c\n'] }]) {
    const address = await serve(t, 'http', request => request.respond(200, headers))
    const socket = await connect(address)
    const received = new Received(socket)
    socket.write(get('/'))
    await received.until(({ isClosed }) => isClosed)
    t.equal(received.text, '')
    t.match(address.faults, [/the header .* cannot be written/s])
  }
})

t.test('what was written before an answer is cut off arrives', async t => {
  const address = await serve(t, 'http', request => {
    request.respond(200, {})
    request.write(Buffer.from('first'))
    request.abort()
  })
  const socket = await connect(address)
  const received = new Received(socket)
  socket.write(get('/'))
  await received.until(({ isClosed }) => isClosed)
  t.match(received.text, /5\r\nfirst\r\n$/)
})
