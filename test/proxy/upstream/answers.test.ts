/** Responses are read as they were meant, however they come in pieces, and what could be read in
 *  two ways is refused. */

import { deepEqual } from 'node:assert/strict'
import type * as net from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import {
  type RawUpstream,
  startRawUpstream,
  type Told,
} from '../../support/upstream/raw-upstream.ts'

/** A response, in pieces. */
interface Scripted {
  pieces: readonly string[]
  closes: boolean
}

async function start(t: Parameters<typeof startRawUpstream>[0]): Promise<{
  upstream: RawUpstream
  read: (pieces: readonly string[], method?: string, closes?: boolean) => Promise<Told>
}> {
  let script: Scripted = { pieces: [], closes: false }
  const upstream = await startRawUpstream(t, socket => void play(socket, script))
  const read = async (pieces: readonly string[], method = 'GET', closes = false): Promise<Told> => {
    script = { pieces, closes }
    const told = await new Promise<Told>(resolve => {
      upstream.send({ method }, resolve)
    })
    // A connection is used again when the event loop has been round once more.
    await new Promise(resolve => setTimeout(resolve))
    return told
  }
  return { upstream, read }
}

async function play(socket: net.Socket, { pieces, closes }: Scripted): Promise<void> {
  socket.setNoDelay()
  for (const piece of pieces) {
    if (socket.destroyed) return
    socket.write(piece, 'latin1')
    // The event loop goes round: the other end reads it alone.
    if (pieces.length > 1) await new Promise(resolve => setImmediate(resolve))
  }
  if (closes) socket.end()
}

const answers: Readonly<Record<string, string>> = {
  counted: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: \t caf\xe9 \t\r\n\r\nhello',
  empty: 'HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n',
  'without a reason': 'HTTP/1.1 404\r\ncontent-length: 2\r\n\r\nno',
  chunked:
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n\r\n' +
    '5\r\nhello\r\n00A;a="b"\r\n\r\n12345678\r\n0\r\n\r\n',
  trailers:
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\nx-more: 2\r\n\r\n',
  'no body': 'HTTP/1.1 204 No Content\r\nX: y\r\n\r\n',
  'not modified': 'HTTP/1.1 304 Not Modified\r\nX: y\r\n\r\n',
  informed:
    'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx',
}

t.test('a response is the same in whatever pieces it comes', async t => {
  const { read, upstream } = await start(t)
  for (const [name, text] of Object.entries(answers)) {
    const whole = await read([text])
    t.equal(whole.failure, undefined, name)
    for (let at = 1; at < text.length; at++) {
      deepEqual(await read([text.slice(0, at), text.slice(at)]), whole, `${name}, cut at ${at}`)
    }
    deepEqual(await read(text.split('')), whole, `${name}, byte by byte`)
  }
  t.equal(upstream.opened(), 1, 'all of them leave the connection as it was')
  const chunked = await read([answers['chunked'] ?? ''])
  t.equal(chunked.body, 'hello\r\n12345678')
  t.strictSame(chunked.headers['set-cookie'], ['a=1', 'b=2'])
  t.strictSame((await read([answers['trailers'] ?? ''])).trailers, { 'x-sum': '1', 'x-more': '2' })
  t.equal((await read([answers['counted'] ?? ''])).headers['x'], 'caf\xe9')
})

t.test('any body comes out as it went in, in any chunks and pieces', async t => {
  const { read } = await start(t)
  const bytes = fc.string({
    unit: fc.nat(255).map(code => String.fromCharCode(code)),
    minLength: 1,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(bytes), fc.array(fc.nat(400)), async (chunks, cuts) => {
      const body = chunks.map(one => `${one.length.toString(16)}\r\n${one}\r\n`).join('')
      const text = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`
      const places = [0, ...cuts.filter(cut => cut < text.length).sort((a, b) => a - b)]
      const told = await read(places.map((place, i) => text.slice(place, places[i + 1])))
      deepEqual([told.body, told.failure], [chunks.join(''), undefined])
    }),
  )
})

t.test('a response to HEAD has no body, whatever it says', async t => {
  const { read } = await start(t)
  for (const framing of ['Content-Length: 5', 'Transfer-Encoding: chunked', 'X: y']) {
    const { trailers, body } = await read([`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`], 'HEAD')
    t.strictSame([trailers, body], [{}, ''], framing)
  }
})

t.test('the length of a 304 is that of the body that the client has', async t => {
  const { read } = await start(t)
  const text = 'HTTP/1.1 304 Not Modified\r\nContent-Length: 70\r\nX: y\r\n\r\n'
  for (let i = 0; i < 2; i++) {
    const told = await read([text])
    t.match(told, { code: 304, headers: { 'content-length': '70', x: 'y' }, body: '' })
    t.equal(told.failure, undefined)
  }
})

t.test('a response without a length ends with its connection, and no other does', async t => {
  const { read } = await start(t)
  const closed = await read(['HTTP/1.1 200 OK\r\n\r\nhel', 'lo'], 'GET', true)
  t.match(closed, { body: 'hello', trailers: {} })
  for (const [name, text] of Object.entries(answers)) {
    for (let at = 0; at < text.length; at += 3) {
      const { failure } = await read([text.slice(0, at)], 'GET', true)
      deepEqual(failure, 'broken', `${name}, cut off at ${at}`)
    }
  }
})

t.test('what ends its connection is not followed by anything', async t => {
  const { read, upstream } = await start(t)
  const ends = [
    'HTTP/1.1 200 OK\r\nConnection: close',
    'HTTP/1.1 200 OK\r\nConnection: x, CLOSE',
    'HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: close',
    'HTTP/1.0 200 OK\r\nX: y',
  ]
  for (const [i, lines] of ends.entries()) {
    const { code } = await read([`${lines}\r\nContent-Length: 0\r\n\r\n`])
    t.equal(code, 200)
    t.equal(upstream.opened(), i + 1, lines)
  }
})

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

const malformed: readonly string[] = [
  'SPQR/7 what?\r\n\r\n',
  'HTTP/1.1 20 OK\r\n\r\n',
  'HTTP/1.1 099 OK\r\n\r\n',
  'HTTP/1.1 2000 OK\r\n\r\n',
  ' HTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 O\nK\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(17),
  // Nobody has asked for it: a client that expects it is told by us.
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n',
  `${ok}Content-Length: 5\nX: y\r\n\r\nhello`,
  `${ok}X: a\rb\r\n\r\n`,
  `${ok}X: a\0b\r\n\r\n`,
  `${ok}X y\r\n\r\n`,
  `${ok}X : y\r\n\r\n`,
  `${ok}: y\r\n\r\n`,
  `${ok}X: a\r\n b\r\n\r\n`,
  `${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
  `${ok}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
  `${ok}Content-Length: 5, 5\r\n\r\nhello`,
  `${ok}Content-Length: +5\r\n\r\nhello`,
  `${ok}Content-Length: 0x5\r\n\r\nhello`,
  `${ok}Content-Length: -5\r\n\r\nhello`,
  `${ok}Content-Length: \r\n\r\nhello`,
  `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  `${ok}Transfer-Encoding: identity\r\n\r\nhello`,
  `${ok}Transfer-Encoding: \r\n\r\nhello`,
  `${chunked}\r\n`,
  `${chunked}5 \r\nhello\r\n0\r\n\r\n`,
  `${chunked} 5\r\nhello\r\n0\r\n\r\n`,
  `${chunked}0x5\r\nhello\r\n0\r\n\r\n`,
  `${chunked}-5\r\nhello\r\n0\r\n\r\n`,
  `${chunked}5\nhello\r\n0\r\n\r\n`,
  `${chunked}5;a\nb\r\nhello\r\n0\r\n\r\n`,
  `${chunked}5\r\nhello!\r\n0\r\n\r\n`,
  `${chunked}5\r\nhello\n0\r\n\r\n`,
  `${chunked}5\r\nhello\r0\r\n\r\n`,
  `${chunked}fffffffffffff\r\n`,
  `${chunked}0\r\nX y\r\n\r\n`,
  `${chunked}0\r\n X: y\r\n\r\n`,
  `${ok}X: ${'y'.repeat(70_000)}\r\n\r\n`,
  `${chunked}0\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
]

t.test('what is no response, or could be read as another one, is refused', async t => {
  const { read } = await start(t)
  for (const text of malformed) {
    const name = JSON.stringify(text.slice(0, 90))
    t.equal((await read([text], 'GET', true)).failure, 'broken', name)
    const inBytes = text.length < 1_000 ? text.split('') : [text.slice(0, 40), text.slice(40)]
    t.equal((await read(inBytes, 'GET', true)).failure, 'broken', `${name}, in pieces`)
  }
})

/** The answers that undici accepts although no server writes them: there is only one way to read
 *  each. */
const lenient: readonly (readonly [string, string])[] = [
  ['HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
  ['\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'hello'],
  [`${chunked}${'0'.repeat(2_000)}5\r\nhello\r\n0\r\n\r\n`, 'hello'],
  [`${chunked}5;${'a'.repeat(2_000)}\r\nhello\r\n0\r\n\r\n`, 'hello'],
  ['HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n', 'hello'],
]

t.test('what is odd, but has one meaning, is taken', async t => {
  const { read } = await start(t)
  for (const [text, body] of lenient) {
    t.match(await read([text]), { code: 200, body }, JSON.stringify(text.slice(0, 60)))
  }
})
