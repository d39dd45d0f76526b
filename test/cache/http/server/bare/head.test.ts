/** Bare requests are read as Node reads them, and everything else is left to Node. */

import * as http from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { isUnfinished, readBareHead } from '../../../../../lib/cache/http/server/bare/head.ts'
import { effort } from '../../../../support/effort.ts'

const usual =
  'GET /api/v1/pods?limit=500 HTTP/1.1\r\nHost: a:6443\r\nAccept: application/json\r\n\r\n'

t.test('a usual request is read', async t => {
  const request = readBareHead(usual)
  t.match(request, {
    target: '/api/v1/pods?limit=500',
    fields: {
      headers: { host: 'a:6443', accept: 'application/json' },
      rawHeaders: ['Host', 'a:6443', 'Accept', 'application/json'],
      isLast: false,
    },
  })
  const next = readBareHead(usual.replace('500', '1'), request?.fields)
  t.equal(next?.fields, request?.fields, 'the same lines are the same object')
  const other = readBareHead(usual.replace('json', 'yaml'), request?.fields)
  t.equal(other?.fields.headers.accept, 'application/yaml')
  const last = readBareHead(usual.replace('Accept: application/json', 'Connection: Close'))
  t.equal(last?.fields.isLast, true)
})

t.test('what comes behind a request is not read with it', async t => {
  const { fields, length } = readBareHead(usual)!
  for (const behind of [usual, 'x', '\r\n', 'POST / HTTP/1.1\r\n\r\n']) {
    t.equal(readBareHead(usual + behind)?.length, length)
    const next = readBareHead(usual + behind, fields)
    t.equal(next?.length, length)
    t.equal(next?.fields, fields)
  }
  const longer = usual.replace('json', 'yaml')
  t.equal(readBareHead(longer + usual, fields)?.fields.headers.accept, 'application/yaml')
})

t.test('a request without its end is unfinished', async t => {
  for (let to = 0; to < usual.length; to++) t.ok(isUnfinished(usual.slice(0, to)))
  t.notOk(isUnfinished(usual))
})

const left: Readonly<Record<string, string>> = {
  'another method': usual.replace('GET', 'POST'),
  'HTTP/1.0': usual.replace('1.1', '1.0'),
  'an absolute target': usual.replace('/api', 'http://a/api'),
  'a fragment': usual.replace('?', '#'),
  'a space in the target': usual.replace('?', ' ?'),
  'a part of a request': usual.slice(0, -2),
  'the first half of a line': usual.slice(0, 30),
  'no host': usual.replace('Host', 'Ghost'),
  'two hosts': usual.replace('Accept: ', 'Host: '),
  'a header twice': usual.replace('\r\n\r\n', '\r\nACCEPT: a\r\n\r\n'),
  'a length': usual.replace('Accept: application/json', 'Content-Length: 0'),
  'a body in chunks': usual.replace('Accept: application/json', 'Transfer-Encoding: chunked'),
  'an upgrade': usual.replace('Accept: application/json', 'Upgrade: websocket'),
  'a wish for 100': usual.replace('Accept: application/json', 'Expect: 100-continue'),
  'a connection that becomes another': usual.replace('Accept: ', 'Connection: '),
  'a folded line': usual.replace('Accept: ', 'Accept:\r\n '),
  'a space before the colon': usual.replace('Accept:', 'Accept :'),
  'a bare line feed': usual.replace('json\r\n', 'json\nA: b\r\n'),
  'a bare carriage return': usual.replace('json', 'js\ron'),
  'a byte that is no text': usual.replace('json', 'js\xffon'),
  'an empty value': usual.replace('application/json', ''),
  'no headers': 'GET / HTTP/1.1\r\n\r\n',
  'many headers': usual.replace(
    'Accept',
    `${Array.from({ length: 70 }, (_, i) => `a${i}: b`).join('\r\n')}\r\nAccept`,
  ),
  nothing: '',
}

for (const [what, text] of Object.entries(left)) {
  t.test(`${what} is left to Node`, async t => {
    t.equal(readBareHead(text), undefined)
    t.equal(readBareHead(text, readBareHead(usual)?.fields), undefined)
  })
}

/** The request as Node reads it; undefined if it refuses. */
function readByNode(text: string): Promise<http.IncomingMessage | undefined> {
  return new Promise(resolve => {
    const server = http.createServer({ keepAliveTimeout: 0 }, request => {
      resolve(request)
      wire.destroy()
    })
    server.on('clientError', () => {
      resolve(undefined)
      wire.destroy()
    })
    const wire = new Duplex({ read() {}, write: (_piece, _encoding, done) => done() })
    server.emit('connection', wire)
    wire.push(Buffer.from(text, 'latin1'))
  })
}

/** Mostly the usual, sometimes something else. */
function mostly(usual: readonly string[], others: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const arbitrary = fc.constantFrom(...usual)
  return fc.oneof({ weight: 9, arbitrary }, { weight: 1, arbitrary: others })
}

function some(max: number): fc.Arbitrary<string> {
  return fc.string({ maxLength: max, unit: 'binary-ascii' })
}

const names = mostly(
  ['Accept', 'User-Agent', 'X_y', 'a.b', 'Connection', '__proto__', 'Constructor', 'host', 'te'],
  fc.oneof(fc.constantFrom('Content-Length', 'Transfer-Encoding', 'A b', 'A!', ''), some(3)),
)
const values = mostly(
  ['a', 'close', 'keep-alive', '0', ' a  b ', '\ta\t', '"q" é'],
  fc.oneof(fc.constantFrom('Keep-Alive, close', '', 'a\x01b', '\r', 'x\n y'), some(8)),
)
const colons = mostly([':', ': ', ':\t '], fc.constantFrom(' : ', ''))
const ends = mostly(['\r\n'], fc.constantFrom('\n', '\r', ''))
const lines = fc.array(fc.tuple(names, colons, values, ends), { maxLength: 3 })
const targets = mostly(
  ['/', '/api', '/api/v1/pods?limit=1', '/%2e%2e/', '//a', '/?', '/a%zz'],
  fc.oneof(
    fc.constantFrom('/a b', '*', '/?a=b#c', '/\xff', '/[', 'a'),
    some(6).map(text => `/${text}`),
  ),
)
const requests = fc
  .tuple(
    mostly(['GET '], fc.constantFrom('HEAD ', 'GET  ', 'get ')),
    targets,
    mostly([' HTTP/1.1'], fc.constantFrom(' HTTP/1.0', ' http/1.1', '')),
    ends,
    mostly(['Host: a\r\n'], fc.constant('')),
    lines,
    ends,
  )
  .map(parts => parts.flat(2).join(''))

t.test('whatever is read is read as Node reads it', async t => {
  let read = 0
  await fc.assert(
    fc.asyncProperty(requests, async text => {
      const mine = readBareHead(text)
      if (mine === undefined) return
      read++
      const theirs = await readByNode(text.slice(0, mine.length))
      t.strictSame(
        {
          target: mine.target,
          headers: { ...mine.fields.headers },
          raw: [...mine.fields.rawHeaders],
        },
        { target: theirs?.url, headers: { ...theirs?.headers }, raw: theirs?.rawHeaders },
        JSON.stringify(text),
      )
      t.equal(theirs?.method, 'GET')
    }),
    { numRuns: 3_000 * effort },
  )
  t.ok(read > 300, `many are read: ${read}`)
})
