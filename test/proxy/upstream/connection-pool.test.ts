/** Connections to the upstream are used again when all is well on them, and never otherwise. */

import { once } from 'node:events'
import type * as net from 'node:net'
import t from 'tap'
import { startRawUpstream as start } from '../../support/upstream/raw-upstream.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { moment } from '../../support/http/moment.ts'
import { patient } from '../../support/patience.ts'

const hello = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'

t.test('a connection is used again, one request after the other', async t => {
  const { opened, get } = await start(t, socket => socket.write(hello))
  for (let i = 0; i < 5; i++) {
    t.equal(await get('/'), 'hello')
    await moment()
  }
  t.equal(opened(), 1)
})

t.test('what comes behind an answer is nobody’s answer', async t => {
  const evil = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'
  const { send, opened, get } = await start(t, (socket, _, connection) => {
    socket.write(connection === 1 ? hello + evil : hello)
  })
  // The second one waits for the answer of the first, which is there at once.
  const both = await new Promise<readonly string[]>(resolve => {
    const got: string[] = []
    const over = ({ body }: { body: string }): void => {
      got.push(body)
      if (got.length === 1) send({ path: '/2' }, over)
      else resolve(got)
    }
    send({ path: '/1' }, over)
  })
  t.strictSame(both, ['hello', 'hello'])
  t.equal(opened(), 2, 'such a connection is closed')
  await moment()
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
    t.equal(await get('/'), 'broken', JSON.stringify(text))
  }
  const { get } = await start(t, socket => socket.end('HTTP/1.1 200 OK\r\n\r\nhello'))
  t.equal(await get('/'), 'hello', 'unless it says no length')
})

t.test('an answer that comes before the end of its request ends the connection', async t => {
  const { send, opened, get } = await start(t, socket => socket.write(hello))
  const endless = {
    pieces: async function* () {
      yield Buffer.from('x')
      await new Promise(() => {})
    },
    trailers: () => [],
  }
  const answer = await new Promise<string>(resolve => {
    send({ method: 'PUT', body: endless }, ({ body }) => resolve(body))
  })
  t.equal(answer, 'hello')
  t.equal(await get('/'), 'hello')
  t.equal(opened(), 2)
})

t.test('a body that breaks off, or has another length, takes its connection with it', async t => {
  for (const [length, sent, failure] of [
    ['', 'breaks', 'broken'],
    ['5', '123', 'broken'],
    ['5', '1234567', 'broken'],
  ] as const) {
    let seen = ''
    const { send } = await start(t, (_, text) => {
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
      const headers = length === '' ? [] : ['Content-Length', length]
      send({ method: 'PUT', headers, body }, ({ failure }) => resolve(failure))
    })
    t.equal(result, failure, 'at once')
    t.notMatch(seen, /\r\n0\r\n/, 'it has no end')
    t.ok(seen.length === 0 || !seen.endsWith('12345'), 'nor as many bytes as it should have')
  }
})

t.test('beyond the bound requests wait, and who leaves meanwhile is not sent', async t => {
  const held: net.Socket[] = []
  const paths: string[] = []
  const { send, opened, get } = await start(
    t,
    (socket, text) => {
      paths.push(text.split(' ')[1] ?? '')
      if (text.startsWith('GET /held')) held.push(socket)
      else socket.write(hello)
    },
    { connectionsMax: 1 },
  )
  const first = get('/held')
  const left = send({ path: '/left' }, () => t.fail('who has left is told'))
  const second = get('/second')
  left.abort()
  while (held.length === 0) await moment()
  held[0]?.write(hello)
  t.strictSame(await Promise.all([first, second]), ['hello', 'hello'])
  t.equal(opened(), 1)
  t.strictSame(paths, ['/held', '/second'])
  const third = get('/held')
  const fourth = get('/fourth')
  while (held.length === 1) await moment()
  held[1]?.destroy()
  t.strictSame(await Promise.all([third, fourth]), ['broken', 'hello'], 'a new one takes its place')
})

t.test('who gives up takes the connection along, and nothing more is told', async t => {
  let closed: Promise<void> | undefined
  const { send } = await start(t, socket => {
    closed = new Promise(resolve => socket.once('close', () => resolve()))
    socket.write(hello.slice(0, -1))
  })
  const asked = send({}, () => t.fail('it is told'))
  while (closed === undefined) await moment()
  asked.abort()
  await closed
})

t.test('late answers fail, and idle connections are closed before the server does it', async t => {
  const long = hello.replace('\r\n', '\r\nKeep-Alive: timeout=2\r\n')
  const sockets: net.Socket[] = []
  const { get, opened } = await start(
    t,
    (socket, text) => {
      sockets.push(socket)
      if (!text.startsWith('GET /never')) socket.write(long)
    },
    { headersTimeout: patient(300), keepAliveTimeoutThreshold: 1_000 },
  )
  t.equal(await get('/'), 'hello')
  t.equal(await get('/never'), 'late')
  // Before it is idle: on a busy machine a part of that time has passed when this is known.
  const fromMs = performance.now()
  t.equal(await get('/'), 'hello')
  t.ok(opened() >= 2, 'not on the connection of which an answer was late')
  const idle = sockets.at(-1) as net.Socket
  if (!idle.closed) await once(idle, 'close')
  t.ok(performance.now() - fromMs > 500, 'it is kept for a while')
})

t.test('what cannot be sent as it is is refused', async t => {
  let seen = ''
  const { send, get } = await start(t, (socket, text) => {
    seen += text
    socket.write(hello)
  })
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
    const { failure } = await new Promise<{ failure?: string }>(resolve => send(one, resolve))
    t.equal(failure, 'invalid_request', JSON.stringify(one))
  }
  t.equal(seen, '')
  await new Promise(resolve => send({ method: 'POST', headers: ['X', 'caf\xe9'] }, resolve))
  t.match(seen, /^POST \/ HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/)
  t.match(seen, /\r\nX: caf\xe9\r\ncontent-length: 0\r\n\r\n$/)
  t.equal(await get('/'), 'hello')
})

t.test(
  'an upstream that stops reading a body is given up, even if its answer has no limit',
  async t => {
    const clock = new FakeClock()
    const options = { clock, headersTimeout: 0, bodyTimeout: 0 }
    const { send } = await start(t, socket => socket.pause(), options)
    let sent = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        sent++
        yield await Promise.resolve(new Uint8Array(64 * 1024))
      }
    }
    let result: string | undefined = ''
    const body = { pieces: endless, trailers: () => [] }
    send({ method: 'PUT', body }, ({ failure }) => (result = failure))
    // Until the buffers between the two are full.
    for (let before = -1; before !== sent || sent === 0;) {
      before = sent
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    await clock.advance(55_000)
    t.equal(result, '', 'it has a minute')
    await clock.advance(10_000)
    t.equal(result, 'late')
  },
)
