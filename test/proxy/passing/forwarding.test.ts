/** Bytes pass as they are, whatever the method, the protocol and the size. */

import { createHash, randomBytes } from 'node:crypto'
import * as http from 'node:http'
import * as http2 from 'node:http2'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { codeIn, head, raw } from '../../support/http/raw-http.ts'
import { startProxied } from '../../support/upstream/proxied.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'REPORT']

interface Told {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly trailers: http.IncomingHttpHeaders
  readonly body: Buffer
}

interface Sent {
  readonly port: number
  readonly method: string
  readonly path: string
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: Buffer | undefined
  readonly onContinue?: () => void
}

function over1({ port, method, path, headers, body, onContinue }: Sent): Promise<Told> {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, host: '127.0.0.1', method, path, headers, agent: false })
    request.on('error', reject)
    request.on('response', response => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers, trailers } = response
        resolve({ status, headers, trailers, body: Buffer.concat(pieces) })
      })
    })
    if (onContinue === undefined) request.end(body)
    else {
      request.flushHeaders()
      request.on('continue', () => {
        onContinue()
        request.end(body)
      })
    }
  })
}

function over2({ port, method, path, headers, body, onContinue }: Sent): Promise<Told> {
  return new Promise((resolve, reject) => {
    const session = http2.connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 100 })
    session.on('error', reject)
    const stream = session.request(
      { ':method': method, ':path': path, ...headers },
      { endStream: body === undefined },
    )
    let got: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader = {}
    let trailers: http2.IncomingHttpHeaders = {}
    const pieces: Buffer[] = []
    stream.on('response', headers => (got = headers))
    stream.on('trailers', headers => (trailers = headers))
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('error', reject)
    stream.on('end', () => {
      session.close()
      const status = got[':status'] ?? 0
      resolve({ status, headers: got, trailers, body: Buffer.concat(pieces) })
    })
    if (onContinue !== undefined) stream.on('continue', () => (onContinue(), stream.end(body)))
    else if (body !== undefined) stream.end(body)
  })
}

const protocols = [
  ['HTTP/1.1', over1],
  ['HTTP/2', over2],
] as const

/** The request as the upstream has seen it. */
function seenBy({ headers }: Told): { method: string; url: string; headers: string[] } {
  const text = (name: string): string => Buffer.from(String(headers[name]), 'base64').toString()
  const url = Buffer.from(String(headers['x-url']), 'base64').toString('latin1')
  return {
    method: String(headers['x-method']),
    url,
    headers: JSON.parse(text('x-headers')) as string[],
  }
}

t.test('every method passes with its body, over both protocols', async t => {
  const { port } = await startProxied(t)
  const body = randomBytes(300_000)
  for (const [name, send] of protocols) {
    for (const method of methods) {
      const hasBody = !['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(method)
      const path = `/echo/%41%2f..;/é`.replace('é', '%C3%A9') + '?a=b%20c&&x=%zz+1'
      // Node says how long a body is only for the usual methods.
      const headers = hasBody ? { 'content-length': String(body.length) } : {}
      const told = await send({ port, method, path, headers, body: hasBody ? body : undefined })
      const seen = seenBy(told)
      t.equal(told.status, 200, `${name} ${method}`)
      t.equal(seen.method, method)
      t.equal(seen.url, path, 'the target is what was sent')
      if (hasBody) t.ok(told.body.equals(body), 'so is the body')
      t.strictSame(told.headers['set-cookie'], ['a=1', 'b=2'], 'lines stay apart')
      t.equal(told.headers['x-hop'], undefined, 'what Connection names stays behind')
      t.equal(told.headers['x-watchglass'], 'pass; reason=path')
    }
  }
})

/** Servers that take the one for the other would see a second length, host or encoding. */
const disguised = {
  connection_: 'kept',
  transfer_encoding: 'chunked',
  content_length: '7',
  Content_Length: '8',
  'content-length_': 'kept',
  proxy_connection: 'close',
  proxy_authorization: 'x',
  keep_alive: '1',
  http2_settings: 'x',
  x_forwarded_for: '9.9.9.9',
  x_forwarded_proto: 'https',
  x_real_ip: '9.9.9.9',
  content_type: 'text/plain',
  max_forwards: '0',
  set_cookie: 'a=b',
  'x-own_name': 'kept',
}

t.test('headers that frame or route a message never pass with _ for -', async t => {
  const { port } = await startProxied(t)
  for (const [name, send] of protocols) {
    for (const body of [undefined, Buffer.from('hello')]) {
      const lines = name === 'HTTP/2' ? loweredOnce(disguised) : disguised
      const told = await send({ port, method: 'POST', path: '/echo', headers: lines, body })
      const { headers } = seenBy(told)
      const spelled = headers.filter((one, i) => i % 2 === 0 && one.includes('_'))
      t.strictSame(
        spelled.map(one => one.toLowerCase()).sort(),
        ['connection_', 'content-length_', 'x-own_name'],
        name,
      )
    }
  }
})

function loweredOnce(headers: Readonly<Record<string, string>>): Record<string, string> {
  const lines = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return Object.fromEntries(lines) as Record<string, string>
}

t.test('a large body streams both ways at once', async t => {
  const { port } = await startProxied(t)
  const body = randomBytes(24 * 1024 * 1024)
  for (const [name, send] of protocols) {
    const { body: got } = await send({ port, method: 'POST', path: '/echo', body })
    const [there, back] = [body, got].map(one => createHash('sha256').update(one).digest('hex'))
    t.equal(back, there, name)
  }
})

t.test('trailers of an answer, compressed bodies and status codes pass', async t => {
  const { port } = await startProxied(t)
  const zipped = gzipSync(Buffer.alloc(100_000, 'x'))
  for (const [name, send] of protocols) {
    const path = '/echo?trailers&gzip&status=418'
    const told = await send({ port, method: 'POST', path, body: zipped })
    t.equal(told.status, 418, name)
    t.equal(told.headers['content-encoding'], 'gzip')
    t.ok(told.body.equals(zipped), 'nobody unpacks')
    t.equal(told.trailers['x-sum'], String(zipped.length))
  }
})

t.test('trailers of a request are refused, but for those that never pass', async t => {
  const { port } = await startProxied(t)
  const dropped = {
    'x-remote-user': 'admin',
    'impersonate-user': 'admin',
    x_forwarded_for: '9.9.9.9',
    'x-forwarded-for': '9.9.9.9',
    authorization: 'Bearer t',
  }
  for (const trailed of [trailed1, trailed2]) {
    const told = await trailed(port, dropped)
    t.equal(told.body.toString(), 'hello')
    t.strictSame(JSON.parse(String(told.trailers['x-sent'])), {})
    const refused = await trailed(port, { ...dropped, 'x-sum': '1' })
    t.equal(refused.status, 400)
    t.match(refused.body.toString(), /trailers of a request cannot be passed on/)
  }
})

const trailed = '/echo?trailers'

/** Node refuses to send some of them. */
async function trailed1(port: number, trailers: Record<string, string>): Promise<Told> {
  const lines = Object.entries(trailers).map(([name, value]) => `${name}: ${value}\r\n`)
  const request = head(
    `POST ${trailed}`,
    'Transfer-Encoding: chunked',
    'Connection: close, X-Named',
  )
  const answer = await raw(port, `${request}5\r\nhello\r\n0\r\n${lines.join('')}\r\n`)
  const sent = /^x-sent: (.*)$/im.exec(answer)?.[1] ?? ''
  const body = Buffer.from(/\r\n5\r\n(hello)\r\n/.exec(answer)?.[1] ?? answer)
  return { status: codeIn(answer), headers: {}, trailers: { 'x-sent': sent }, body }
}

function trailed2(port: number, trailers: Record<string, string>): Promise<Told> {
  return new Promise((resolve, reject) => {
    const session = http2.connect(`http://127.0.0.1:${port}`)
    session.on('error', reject)
    const request = { ':method': 'POST', ':path': trailed }
    const stream = session.request(request, { endStream: false, waitForTrailers: true })
    const told = { status: 0, headers: {}, trailers: {} as http.IncomingHttpHeaders }
    const pieces: Buffer[] = []
    stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    stream.on('response', headers => (told.status = headers[':status'] ?? 0))
    stream.on('trailers', headers => (told.trailers = headers))
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('error', reject)
    stream.on('end', () => {
      session.close()
      resolve({ ...told, body: Buffer.concat(pieces) })
    })
    stream.end('hello')
  })
}

t.test('a client that expects to be told to go on is told', async t => {
  const { port } = await startProxied(t)
  const body = Buffer.from('after the 100')
  for (const [name, send] of protocols) {
    let continues = 0
    const told = await send({
      port,
      method: 'POST',
      path: '/echo',
      headers: { expect: '100-continue', 'content-length': String(body.length) },
      body,
      onContinue: () => continues++,
    })
    t.equal(told.body.toString(), body.toString(), name)
    t.equal(continues, 1)
  }
})

t.test('an answer without a body passes as it is', async t => {
  const { port } = await startProxied(t)
  for (const status of [204, 304]) {
    for (const [name, send] of protocols) {
      const told = await send({ port, method: 'GET', path: `/echo?status=${status}` })
      t.equal(told.status, status, name)
      t.equal(told.body.length, 0)
    }
  }
})

t.test('the caller is shown by credentials of its own, and by where it comes from', async t => {
  const { port } = await startProxied(t)
  for (const [name, send] of protocols) {
    const told = await send({
      port,
      method: 'GET',
      path: '/echo',
      headers: { authorization: 'Bearer t', 'x-forwarded-for': '9.9.9.9', 'x-forwarded-host': 'h' },
    })
    const { headers } = seenBy(told)
    const valueOf = (wanted: string): string[] =>
      headers.filter((_, i) => i % 2 === 1 && headers[i - 1]?.toLowerCase() === wanted)
    t.strictSame(valueOf('authorization'), ['Bearer t'], name)
    t.match(valueOf('x-forwarded-for').join(), /^9\.9\.9\.9, (::ffff:)?127\.0\.0\.1$/)
    t.strictSame(valueOf('x-forwarded-host'), [`127.0.0.1:${port}`])
    t.strictSame(valueOf('x-forwarded-proto'), ['http'])
    t.equal(valueOf('host').length, 1)
  }
})

t.test('several groups to impersonate stay several', async t => {
  const { port } = await startProxied(t)
  const told = await over1({
    port,
    method: 'GET',
    path: '/echo',
    headers: { 'Impersonate-User': 'u', 'Impersonate-Group': ['a', 'b'] },
  })
  const { headers } = seenBy(told)
  const groups = headers.filter((_, i) => headers[i - 1] === 'Impersonate-Group')
  t.strictSame(groups, ['a', 'b'])
})
