/** Answers and headers that once ended the process, and their siblings: none of them ends more
 *  than its own request. */

import t from 'tap'
import type { Binding } from '../support/upstream/rules.ts'
import { admin, type Door, maps, mistakesOf, startDoor } from '../support/attacks/door.ts'
import { ask, askRaw, protocols, versions } from '../support/attacks/ask.ts'
import { calm, staysCalm } from '../support/attacks/works.ts'

const chunked = 'Transfer-Encoding: chunked\r\n'
const body = '5\r\nhello\r\n'

/** Answers that an upstream, or whoever has a pod behind it, may give: each is understood, or is an
 *  error of this request alone. */
const answers: Readonly<Record<string, string>> = {
  'trailers that repeat a header':
    `HTTP/1.1 200 OK\r\nTrailer: etag\r\n${chunked}\r\n${body}0\r\n` +
    'ETag: a\r\nETag: b\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n',
  'trailers of a connection': `HTTP/1.1 200 OK\r\nTrailer: a\r\n${chunked}\r\n${body}0\r\nConnection: x\r\nTE: y\r\nUpgrade: z\r\n:status: 1\r\n\r\n`,
  'trailers without a body': 'HTTP/1.1 204 No\r\nTrailer: etag\r\n\r\n',
  'a trailer beside a length': 'HTTP/1.1 200 OK\r\nTrailer: etag\r\nContent-Length: 5\r\n\r\nhello',
  'a header twice': `HTTP/1.1 200 OK\r\nContent-Type: a/a\r\nContent-Type: b/b\r\nContent-Length: 5\r\n\r\nhello`,
  'headers named as what objects have':
    'HTTP/1.1 200 OK\r\nconstructor: a\r\n__proto__: b\r\n__proto__: c\r\ntoString: d\r\nContent-Length: 5\r\n\r\nhello',
  'a code beyond 599': 'HTTP/1.1 799 What\r\nContent-Length: 5\r\n\r\nhello',
  'a protocol that nobody asked for': 'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\nhello',
  'a body where there is none':
    'HTTP/1.1 205 Reset\r\nTrailer: a\r\nContent-Length: 5\r\n\r\nhello',
  'bytes beyond ASCII': 'HTTP/1.1 200 \xe9\r\nX-A: \xff\xfe\r\nContent-Length: 5\r\n\r\nhello',
}

async function meets(door: Door, bytes: string): Promise<void> {
  door.upstream.fault = ({ url }) =>
    url.includes('bad') ? { type: 'raw' as const, bytes } : undefined
  for (const version of versions) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const request = { method, path: '/echo/bad', headers: { ...admin, te: 'trailers' } }
      await ask(door, version, request).catch(() => undefined)
    }
  }
  const upgrade = ['Connection: Upgrade', 'Upgrade: websocket', 'Trailer: a', '', ''].join('\r\n')
  for (const version of ['1.0', '1.1']) {
    const line = `GET /api/v1/namespaces/a/pods/bad/exec HTTP/${version}`
    const host = `Host: x\r\nAuthorization: ${admin.authorization}`
    const said = await askRaw(door, `${line}\r\n${host}\r\n${upgrade}`, text =>
      text.includes('\r\n\r\nhello'),
    )
    void said
  }
}

const doors = {
  http: await startDoor(t, { mayFail: true }),
  https: await startDoor(t, { protocol: 'https', mayFail: true }),
}

for (const protocol of protocols) {
  t.test(`no answer of an upstream ends the process, over ${protocol}`, async t => {
    const door = doors[protocol]
    const before = await calm(t, door)
    for (const [name, bytes] of Object.entries(answers)) {
      await meets(door, bytes)
      t.notOk(door.hasEnded(), name)
    }
    await staysCalm(t, door, before)
  })
}

t.test('trailers and headers that are repeated pass as far as they can', async t => {
  const door = doors.http
  const answer = answers['trailers that repeat a header'] ?? ''
  door.upstream.fault = ({ url }) =>
    url === '/echo/1' ? { type: 'raw', bytes: answer } : undefined
  const got = await ask(door, '2', { path: '/echo/1', headers: admin })
  t.equal(got.status, 200)
  t.equal(got.body, 'hello')
  const double = `HTTP/1.1 200 OK\r\nContent-Type: a/a\r\nContent-Type: a/a\r\nContent-Length: 5\r\n\r\nhello`
  door.upstream.fault = ({ url }) =>
    url === '/echo/2' ? { type: 'raw', bytes: double } : undefined
  for (const version of versions) {
    const same = await ask(door, version, { path: '/echo/2', headers: admin })
    t.equal(same.status, 200, 'what is said twice is said once')
    t.equal(same.headers['content-type'], 'a/a')
  }
  door.upstream.fault = ({ url }) =>
    url === '/echo/3' ? { type: 'raw', bytes: answers['a header twice'] ?? '' } : undefined
  for (const version of versions) {
    const other = await ask(door, version, { path: '/echo/3', headers: admin })
    t.equal(other.status, 502, 'two types are none')
    t.match(other.body, /two values of content-type/)
  }
})

const certs = 'test/support/certs'
const reader: Binding = {
  subjects: ['alice'],
  namespace: '',
  rules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
}

t.test('what a front proxy calls its extras ends nothing', async t => {
  const door = await startDoor(t, {
    protocol: 'https',
    isUpstreamSecure: true,
    bindings: [reader],
    args: [
      '--auth=requestheader',
      `--requestheader-client-ca=${certs}/proxies-ca.pem`,
      '--pass-identity=headers',
      `--front-proxy-cert=${certs}/front-proxy.pem`,
      `--front-proxy-key=${certs}/front-proxy.key`,
      '--audit-log=/dev/null',
    ],
    probe: { headers: { 'x-remote-user': 'alice' }, certificate: 'front-proxy' },
  })
  for (const name of [
    'Constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    '%5f%5fproto%5f%5f',
  ]) {
    for (const path of [`${maps}/a`, '/echo']) {
      const headers = { 'x-remote-user': 'alice', [`X-Remote-Extra-${name}`]: 'x' }
      const got = await ask({ ...door, certificate: 'front-proxy' }, '1.1', { path, headers })
      t.ok([200, 403].includes(got.status), `${name}: ${got.status}`)
    }
  }
})

t.test('no signal opens a debugger', async t => {
  const door = doors.http
  door.signal('SIGUSR1')
  while (!door.log.some(({ message }) => message.includes('SIGUSR1'))) {
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  await new Promise(resolve => setTimeout(resolve, 200))
  t.notOk(door.log.some(({ message }) => /debugger listening/i.test(message)))
})

// The last test of these programs, which end with it.
t.test('a mistake that nobody catches ends the process in order', async t => {
  for (const [how, door] of [
    ['throw', doors.http],
    ['reject', doors.https],
  ] as const) {
    t.strictSame(mistakesOf(door), [], 'no test before has met one')
    door.err(how)
    t.equal(await door.exited(), 1)
    const [first, ...others] = mistakesOf(door)
    t.match(first, { message: 'internal error: the process stops', error: /nobody/ })
    t.match(others.at(-1), { message: /because of the internal error/ })
    t.ok(
      door.log.some(({ message }) => message === 'stopped'),
      'after its listeners',
    )
  }
})
