/** Connections to the upstream are used again when all is well on them, and never otherwise. */

import { once } from 'node:events'
import * as net from 'node:net'
import t, { type Test } from 'tap'
import { requestHead } from '../../../../lib/front/connections/request-head.ts'
import type { Passage, UpstreamConnection } from '../../../../lib/front/connections/connection.ts'
import { ConnectionPool } from '../../../../lib/front/connections/connection-pool.ts'
import { codeOf } from '../../../../lib/front/upstream/failure.ts'
import { systemClock } from '../../../../lib/ops/system.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { moment } from '../../../support/http/moment.ts'

const hello = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'

/** What the server does with what has come on a connection so far. */
type Script = (socket: net.Socket, text: string, connection: number) => void

interface World {
  readonly connections: ConnectionPool
  /** How many there were. */
  readonly opened: () => number
  /** A request's answer, as text; or what went wrong. */
  readonly get: (path: string) => Promise<string>
}

async function start(t: Test, script: Script, options = {}): Promise<World> {
  let opened = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer(socket => {
    const connection = ++opened
    let text = ''
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', piece => {
      text += piece.toString('latin1')
      if (!text.includes('\r\n\r\n')) return
      script(socket, text, connection)
      text = ''
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as net.AddressInfo
  const connections = new ConnectionPool({
    url: new URL(`http://127.0.0.1:${port}`),
    tls: {},
    clock: systemClock,
    connectionsMax: 4,
    perUserMax: 64,
    connectMs: 5_000,
    answerMs: 5_000,
    idleMs: 30_000,
    ...options,
  })
  t.teardown(() => {
    connections.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const get = (path: string): Promise<string> =>
    new Promise(resolve => connections.dispatch(new Asked(path, resolve)))
  return { connections, opened: () => opened, get }
}

class Asked implements Passage {
  readonly user = undefined
  readonly method = 'GET'
  readonly head
  readonly body: Passage['body']
  readonly #over: (result: string) => void
  #text = ''
  connection: UpstreamConnection | undefined = undefined

  constructor(path: string, over: (result: string) => void, body?: Passage['body']) {
    const hasBody = body !== undefined
    this.head = requestHead({ method: 'GET', path, headers: [], host: 'x', hasBody })
    this.body = body
    this.#over = over
  }

  sent(connection: UpstreamConnection): void {
    this.connection = connection
  }

  started(): void {}

  data(piece: Uint8Array): boolean {
    this.#text += Buffer.from(piece).toString('latin1')
    return true
  }

  ended(): void {
    this.#over(this.#text)
  }

  failed(error: unknown): void {
    this.#over(codeOf(error))
  }
}

t.test('a connection is used again, one request after the other', async t => {
  const { opened, get } = await start(t, socket => socket.write(hello))
  for (let i = 0; i < 5; i++) t.equal(await get('/'), 'hello')
  t.equal(opened(), 1)
})

t.test('what comes behind an answer is nobody’s answer', async t => {
  const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'
  const { connections, opened, get } = await start(t, (socket, _, connection) => {
    socket.write(connection === 1 ? hello + evil : hello)
  })
  // The second one waits for the answer of the first, which is there at once.
  const both = await new Promise<readonly string[]>(resolve => {
    const got: string[] = []
    const over = (text: string): void => {
      got.push(text)
      if (got.length === 1) connections.dispatch(new Asked('/2', over))
      else resolve(got)
    }
    connections.dispatch(new Asked('/1', over))
  })
  t.strictSame(both, ['hello', 'hello'])
  t.equal(opened(), 2, 'such a connection is closed')
  t.equal(await get('/3'), 'hello')
  t.equal(opened(), 2)
})

t.test('a connection that says something by itself, or ends, is not used again', async t => {
  for (const last of ['HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n', '']) {
    const sockets: net.Socket[] = []
    const { opened, get } = await start(t, socket => {
      sockets.push(socket)
      socket.write(hello)
    })
    t.equal(await get('/'), 'hello')
    const [socket] = sockets
    socket?.end(last)
    if (socket !== undefined) await once(socket, 'close')
    t.equal(await get('/'), 'hello')
    t.equal(opened(), 2)
  }
})

t.test('an answer that breaks off is a failure, however it is framed', async t => {
  const counted = hello.slice(0, -1)
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'
  for (const text of [counted, chunked, `${chunked}0\r\n`, 'HTTP/1.1 200 OK\r\n', '']) {
    const { get } = await start(t, socket => socket.end(text))
    t.equal(await get('/'), 'ECONNRESET', JSON.stringify(text))
  }
  const { get } = await start(t, socket => socket.end('HTTP/1.1 200 OK\r\n\r\nhello'))
  t.equal(await get('/'), 'hello', 'unless it says no length')
})

t.test('an answer that comes before the end of its request ends the connection', async t => {
  const { connections, opened, get } = await start(t, socket => socket.write(hello))
  const endless = {
    pieces: async function* () {
      yield Buffer.from('x')
      await new Promise(() => {})
    },
    trailers: () => [],
  }
  const answer = await new Promise(resolve => {
    connections.dispatch(new Asked('/', resolve, endless))
  })
  t.equal(answer, 'hello')
  t.equal(await get('/'), 'hello')
  t.equal(opened(), 2)
})

t.test('a body that breaks off, or has another length, takes its connection with it', async t => {
  for (const [length, sent, failure] of [
    ['', 'breaks', ''],
    ['5', '123', 'ECONNRESET'],
    ['5', '1234567', 'ECONNRESET'],
  ] as const) {
    let seen = ''
    const { connections } = await start(t, (_, text) => {
      seen += text
    })
    const body = {
      pieces: async function* () {
        yield Buffer.from(sent)
        if (sent === 'breaks') throw new Error('the client has left')
      },
      trailers: () => [],
    }
    const result = await new Promise(resolve => {
      const asked = new Asked('/', resolve, body)
      const headers = length === '' ? [] : ['Content-Length', length]
      const head = requestHead({ method: 'PUT', path: '/', headers, host: 'x', hasBody: true })
      connections.dispatch(Object.assign(asked, { head }))
    })
    t.equal(result, failure, 'at once')
    t.notMatch(seen, /\r\n0\r\n/, 'it has no end')
    t.ok(seen.length === 0 || !seen.endsWith('12345'), 'nor as many bytes as it should have')
  }
})

t.test('beyond the bound requests wait, and who leaves meanwhile is not sent', async t => {
  const held: net.Socket[] = []
  const paths: string[] = []
  const { connections, opened, get } = await start(
    t,
    (socket, text) => {
      paths.push(text.split(' ')[1] ?? '')
      if (text.startsWith('GET /held')) held.push(socket)
      else socket.write(hello)
    },
    { connectionsMax: 1 },
  )
  const first = get('/held')
  const left = new Asked('/left', () => t.fail('who has left is told'))
  connections.dispatch(left)
  const second = get('/second')
  connections.cancel(left)
  while (held.length === 0) await moment()
  held[0]?.write(hello)
  t.strictSame(await Promise.all([first, second]), ['hello', 'hello'])
  t.equal(opened(), 1)
  t.strictSame(paths, ['/held', '/second'])
  const third = get('/held')
  const fourth = get('/fourth')
  while (held.length === 1) await moment()
  held[1]?.destroy()
  t.strictSame(
    await Promise.all([third, fourth]),
    ['ECONNRESET', 'hello'],
    'a new one takes its place',
  )
})

t.test('who gives up takes the connection along, and nothing more is told', async t => {
  let closed: Promise<void> | undefined
  const { connections } = await start(t, socket => {
    closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.write(hello.slice(0, -1))
  })
  const asked = new Asked('/', () => t.fail('it is told'))
  connections.dispatch(asked)
  while (closed === undefined) await moment()
  asked.connection?.abort(asked)
  await closed
})

t.test('late answers fail, and idle connections are closed before the server does it', async t => {
  const clock = new FakeClock()
  const long = hello.replace('\r\n', '\r\nKeep-Alive: timeout=6\r\n')
  const sockets: net.Socket[] = []
  const { get, opened } = await start(
    t,
    (socket, text) => {
      sockets.push(socket)
      if (!text.startsWith('GET /never')) socket.write(long)
    },
    { clock },
  )
  t.equal(await get('/'), 'hello')
  const late = get('/never')
  while (sockets.length < 2) await moment()
  for (let i = 0; i < 5; i++) await clock.advance(1_000)
  t.equal(await late, 'ETIMEDOUT')
  t.equal(await get('/'), 'hello')
  t.equal(opened(), 2)
  const closed = once(sockets[2] as net.Socket, 'close')
  for (let i = 0; i < 6; i++) await clock.advance(1_000)
  await closed
})

t.test('what cannot be sent as it is is refused', async t => {
  const plain = { method: 'GET', path: '/', headers: [], host: 'x', hasBody: false }
  const cases = [
    { path: '/\u010a' },
    { path: '/a b' },
    { method: 'GET /' },
    { headers: ['X', 'a\u010ab'] },
    { headers: ['X', 'a\r\nb'] },
    { headers: ['X:', 'a'] },
    { headers: ['Content-Length', '1', 'content-length', '1'] },
    { headers: ['Content-Length', '1, 1'] },
  ]
  for (const one of cases) {
    const code = 'invalid_request'
    t.throws(() => requestHead({ ...plain, ...one }), { code }, JSON.stringify(one))
  }
  const { text } = requestHead({ ...plain, method: 'POST', headers: ['X', 'caf\xe9'] })
  t.equal(text, 'POST / HTTP/1.1\r\nHost: x\r\nX: caf\xe9\r\nContent-Length: 0\r\n\r\n')
})

t.test(
  'an upstream that stops reading a body is given up, even if its answer has no limit',
  async t => {
    const clock = new FakeClock()
    const { connections } = await start(t, socket => socket.pause(), { clock, answerMs: 0 })
    let sent = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        sent++
        yield await Promise.resolve(new Uint8Array(64 * 1024))
      }
    }
    let result = ''
    const body = { pieces: endless, trailers: () => [] }
    connections.dispatch(new Asked('/', text => (result = text), body))
    // Until the buffers between the two are full.
    for (let before = -1; before !== sent || sent === 0;) {
      before = sent
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    await clock.advance(55_000)
    t.equal(result, '', 'it has a minute')
    await clock.advance(10_000)
    t.equal(result, 'ETIMEDOUT')
  },
)
