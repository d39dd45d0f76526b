/** Answers are read as they were meant, however they come in pieces, and what could be read in two ways is refused. */

import { deepEqual } from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { AnswerParser } from '../../../../lib/front/connections/answer-parser.ts'

interface Told {
  code: number
  headers: IncomingHttpHeaders
  body: string
  trailers?: IncomingHttpHeaders
}

interface Read {
  readonly told: readonly Told[]
  readonly isPersistent: boolean
  readonly isIdle: boolean
}

/** What is told of an answer that comes in these pieces. */
function read(pieces: readonly string[], method = 'GET', closes = false): Read {
  const told: Told[] = []
  const parser = new AnswerParser({
    started: (code, headers) => told.push({ code, headers, body: '' }),
    data(piece) {
      const last = told.at(-1)
      if (last !== undefined) last.body += Buffer.from(piece).toString('latin1')
    },
    ended(trailers) {
      const last = told.at(-1)
      if (last !== undefined) last.trailers = { ...trailers }
    },
  })
  parser.expect(method)
  for (const piece of pieces) parser.take(Buffer.from(piece, 'latin1'))
  if (closes) parser.close()
  return { told, isPersistent: parser.isPersistent, isIdle: parser.isIdle }
}

const answers: Readonly<Record<string, string>> = {
  counted: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: \t caf\xe9 \t\r\n\r\nhello',
  empty: 'HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n',
  'without a reason': 'HTTP/1.1 404\r\ncontent-length: 2\r\n\r\nno',
  chunked:
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n\r\n' +
    '5\r\nhello\r\n00A ;a="b"\r\n\r\n12345678\r\n0\r\n\r\n',
  trailers:
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\nx-more: 2\r\n\r\n',
  'no body': 'HTTP/1.1 204 No Content\r\nX: y\r\n\r\n',
  'not modified': 'HTTP/1.1 304 Not Modified\r\nContent-Length: 70\r\n\r\n',
  informed:
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx',
}

t.test('an answer is the same in whatever pieces it comes', async t => {
  for (const [name, text] of Object.entries(answers)) {
    const whole = read([text])
    t.ok(whole.isIdle && whole.isPersistent, name)
    t.equal(whole.told.length, 1)
    for (let at = 1; at < text.length; at++) {
      deepEqual(read([text.slice(0, at), text.slice(at)]), whole, `${name}, cut at ${at}`)
    }
    deepEqual(read(text.split('')), whole, `${name}, byte by byte`)
  }
  const chunked = read([answers['chunked'] ?? '']).told[0]
  t.equal(chunked?.body, 'hello\r\n12345678')
  t.strictSame(chunked?.headers['set-cookie'], ['a=1', 'b=2'])
  t.strictSame(read([answers['trailers'] ?? '']).told[0]?.trailers, { 'x-sum': '1', 'x-more': '2' })
  t.equal(read([answers['counted'] ?? '']).told[0]?.headers['x'], 'caf\xe9')
})

t.test('any body comes out as it went in, in any chunks and pieces', async () => {
  const bytes = fc.string({
    unit: fc.nat(255).map(code => String.fromCharCode(code)),
    minLength: 1,
  })
  fc.assert(
    fc.property(fc.array(bytes), fc.array(fc.nat(400)), (chunks, cuts) => {
      const body = chunks.map(one => `${one.length.toString(16)}\r\n${one}\r\n`).join('')
      const text = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`
      const places = [0, ...cuts.filter(cut => cut < text.length).sort((a, b) => a - b)]
      const { told, isIdle } = read(places.map((place, i) => text.slice(place, places[i + 1])))
      deepEqual([told[0]?.body, isIdle], [chunks.join(''), true])
    }),
  )
})

t.test('an answer to HEAD has no body, whatever it says', async t => {
  for (const framing of ['Content-Length: 5', 'Transfer-Encoding: chunked', 'X: y']) {
    const { told, isIdle } = read([`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`], 'HEAD')
    t.ok(isIdle, framing)
    t.strictSame(told[0]?.trailers, {})
  }
})

t.test('an answer without a length ends with its connection, and no other does', async t => {
  const open = read(['HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello'])
  t.strictSame([open.isIdle, open.isPersistent, open.told[0]?.trailers], [false, false, undefined])
  const closed = read(['HTTP/1.1 200 OK\r\n\r\nhel', 'lo'], 'GET', true)
  t.match(closed.told[0], { body: 'hello', trailers: {} })
  for (const [name, text] of Object.entries(answers)) {
    for (let at = 0; at < text.length; at++) {
      const { told, isIdle } = read([text.slice(0, at)], 'GET', true)
      deepEqual([isIdle, told[0]?.trailers], [false, undefined], `${name}, cut off at ${at}`)
    }
  }
})

t.test('what ends its connection is not followed by anything', async t => {
  for (const line of [
    'Connection: close',
    'Connection: x, CLOSE',
    'Connection: x\r\nConnection: close',
  ]) {
    t.notOk(read([`HTTP/1.1 200 OK\r\n${line}\r\nContent-Length: 0\r\n\r\n`]).isPersistent, line)
  }
  t.notOk(read(['HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n']).isPersistent)
})

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

const malformed: readonly string[] = [
  'SPQR/7 what?\r\n\r\n',
  'HTTP/2.0 200 OK\r\n\r\n',
  'HTTP/1.1 20 OK\r\n\r\n',
  'HTTP/1.1 099 OK\r\n\r\n',
  'HTTP/1.1 2000 OK\r\n\r\n',
  ' HTTP/1.1 200 OK\r\n\r\n',
  '\r\nHTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 200 O\nK\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n'.repeat(17),
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
  'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
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
  `${chunked}${'0'.repeat(2_000)}5\r\nhello\r\n0\r\n\r\n`,
  `${chunked}5;${'a'.repeat(2_000)}\r\nhello\r\n0\r\n\r\n`,
  `${chunked}0\r\nX y\r\n\r\n`,
  `${chunked}0\r\n X: y\r\n\r\n`,
  `${ok}X: ${'y'.repeat(70_000)}\r\n\r\n`,
  `${chunked}0\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
  // More than was asked for.
  `${ok}Content-Length: 5\r\n\r\nhello!`,
  `${chunked}0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`,
  'HTTP/1.1 204 No Content\r\n\r\nhello',
]

t.test('what is no answer, or could be read as another one, is refused', async t => {
  for (const text of malformed) {
    const name = JSON.stringify(text.slice(0, 90))
    t.throws(() => read([text]), { code: 'EPROTO' }, name)
    t.throws(() => read(text.split('')), { code: 'EPROTO' }, `${name}, byte by byte`)
  }
})
