import t, { type Test } from 'tap'
import { startServed, type Served } from '../../../support/http/served.ts'
import { maskedFrame } from '../../../support/http/stream-wire.ts'
import { WebSocketClient, type HandshakeLines } from '../../../support/watch/web-socket-client.ts'
import { all, put, remove, untilWatches } from '../../../support/watch/watch-served.ts'

const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 }
const protocols = 'Sec-WebSocket-Protocol'
const closed = (code: number): Buffer => Buffer.of(code >> 8, code & 0xff)

function open(t: Test, served: Served, path: string, lines: HandshakeLines = {}): WebSocketClient {
  return new WebSocketClient(t, served.service.port, path, lines)
}

async function told(client: WebSocketClient): Promise<string> {
  const message = await client.next()
  if (message === undefined) return 'the end'
  const text = message.payload.toString()
  const { type, object } = JSON.parse(text) as {
    type: string
    object: { metadata: { name?: string; resourceVersion?: string } }
  }
  return `${type} ${object.metadata.name}@${object.metadata.resourceVersion}`
}

t.test('a watch is answered over a WebSocket, with the head that kube-apiserver has', async t => {
  const served = await startServed(t)
  const a = await put(served, 'a')
  const client = open(t, served, all)
  t.strictSame((await client.head()).split('\r\n'), [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
    '',
    '',
  ])
  t.equal(await told(client), `ADDED a@${a}`)
  const b = await put(served, 'b')
  t.equal(await told(client), `ADDED b@${b}`)
  const removed = await remove(served, 'b')
  t.equal(await told(client), `DELETED b@${removed}`)
})

t.test('a line ends each message, and a message holds one event', async t => {
  const served = await startServed(t)
  for (const name of ['a', 'b', 'c']) await put(served, name)
  const client = open(t, served, all)
  await client.head()
  for (let i = 0; i < 3; i++) {
    const { payload } = (await client.next())!
    t.equal(payload.indexOf('\n'), payload.length - 1)
  }
})

t.test('what is refused before a watch begins is answered as it is over plain HTTP', async t => {
  const served = await startServed(t)
  for (const [path, code] of [
    [`${all}&labelSelector=a%3D%3D%3D`, 400],
    [`${all}&resourceVersion=x`, 500],
    ['/api/v1/nosuch?watch=true', 404],
  ] as const) {
    const head = await open(t, served, path).head()
    t.match(head, new RegExp(`^HTTP/1.1 ${code} [^]*content-type: application/json`), path)
  }
  const list = await open(t, served, '/api/v1/configmaps').head()
  t.match(list, /^HTTP\/1.1 200 OK/, 'only a watch is upgraded')
})

t.test('handshakes are refused as Go refuses them, without a header of the API', async t => {
  const served = await startServed(t)
  const cases: readonly [string, HandshakeLines, string][] = [
    [
      'no key',
      { 'Sec-WebSocket-Key': undefined },
      '400 Bad Request\r\n\r\nmismatch challenge/response',
    ],
    [
      'another version',
      { 'Sec-WebSocket-Version': '8' },
      '400 Bad Request\r\nSec-WebSocket-Version: 13\r\n\r\nmissing or bad WebSocket Version',
    ],
    ['no origin', { Origin: undefined }, '403 Forbidden\r\n\r\n'],
    ['no origin of a page', { Origin: 'null' }, '403 Forbidden\r\n\r\n'],
    ['two subprotocols', { [protocols]: 'a, b' }, '400 Bad Request\r\n\r\n'],
  ]
  for (const [name, lines, answer] of cases) {
    const client = open(t, served, all, lines)
    const whole = (await client.head()) + (await client.rest()).toString()
    t.equal(whole, `HTTP/1.1 ${answer}`, name)
  }
  await untilWatches(served, 0)
})

t.test('a subprotocol is echoed, whatever it is, but for tokens', async t => {
  const served = await startServed(t)
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from('secret').toString('base64url')}`
  for (const [asked, echoed] of [
    ['binary.k8s.io', 'binary.k8s.io'],
    ['anything', 'anything'],
    [`${token}, base64.binary.k8s.io`, 'base64.binary.k8s.io'],
  ] as const) {
    const head = await open(t, served, all, { [protocols]: asked }).head()
    t.match(head, `\r\nSec-WebSocket-Protocol: ${echoed}\r\n`)
    t.notMatch(head, 'bearer')
  }
})

t.test('protobuf is binary, without the lengths of a stream', async t => {
  const served = await startServed(t)
  await put(served, 'a')
  const accept = 'application/vnd.kubernetes.protobuf'
  const client = open(t, served, all, { Accept: accept })
  await client.head()
  const message = (await client.next())!
  t.equal(message.opcode, opcodes.binary)
  t.equal(message.payload.toString('latin1', 2, 7), 'ADDED')
})

t.test('the first message of a Table has its columns, and no other', async t => {
  const served = await startServed(t)
  await put(served, 'a')
  await put(served, 'b')
  const client = open(t, served, all, { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })
  await client.head()
  const texts: string[] = []
  for (let i = 0; i < 2; i++) texts.push((await client.next())!.payload.toString())
  await put(served, 'c')
  texts.push((await client.next())!.payload.toString())
  t.strictSame(
    texts.map(
      text =>
        (JSON.parse(text) as { object: { columnDefinitions: unknown } }).object
          .columnDefinitions === null,
    ),
    [false, true, true],
  )
})

t.test('the end of its time closes it, and so does a stop of the server', async t => {
  const served = await startServed(t)
  const timed = open(t, served, `${all}&resourceVersion=0&timeoutSeconds=1`)
  const other = open(t, served, `${all}&resourceVersion=0`)
  await timed.head()
  await other.head()
  t.strictSame(await timed.next(), { opcode: opcodes.close, payload: closed(1000) })
  await Promise.all([
    served.service.stop(),
    other.next().then(message => t.strictSame(message?.payload, closed(1000))),
  ])
  t.equal(await other.next(), undefined)
})

t.test('pings are answered, and what clients should not send is passed over', async t => {
  const served = await startServed(t)
  const client = open(t, served, all)
  await client.head()
  const { socket } = client
  const odd: readonly (readonly [string, Buffer])[] = [
    ['nothing', Buffer.alloc(0)],
    ['a text', maskedFrame(opcodes.text, Buffer.from('hello'))],
    ['a part of a message', maskedFrame(opcodes.text, Buffer.from('x'), false)],
    ['a rest of none', maskedFrame(0, Buffer.from('x'))],
    ['a kind that is not known', maskedFrame(3, Buffer.from('x'))],
    ['a pong', maskedFrame(opcodes.pong, Buffer.from('x'))],
    ['a large one', maskedFrame(opcodes.binary, Buffer.alloc(100_000))],
  ]
  for (const [name, bytes] of odd) {
    socket.write(Buffer.concat([bytes, maskedFrame(opcodes.ping, Buffer.from(name))]))
    t.strictSame(await client.next(), { opcode: opcodes.pong, payload: Buffer.from(name) })
  }
  socket.write(maskedFrame(opcodes.ping, Buffer.alloc(300, 'x')))
  t.equal((await client.next())!.payload.length, 125, 'as much as a control message may have')
  const inBytes = maskedFrame(opcodes.ping, Buffer.from('in bytes'))
  for (const byte of inBytes) socket.write(Buffer.of(byte))
  t.equal((await client.next())!.payload.toString(), 'in bytes')
})

t.test('a client that closes is answered and forgotten', async t => {
  const served = await startServed(t)
  const ends: readonly (readonly [string, Buffer | undefined, number])[] = [
    ['close', maskedFrame(opcodes.close, closed(4001)), 1000],
    ['close without a code', maskedFrame(opcodes.close, Buffer.alloc(0)), 1000],
    ['end of the connection', undefined, 1000],
    ['a frame that is not masked', Buffer.of(0x81, 1, 0x61), 1002],
    ['a frame beyond 32 MiB', Buffer.of(0x82, 0xff, 0, 0, 0, 0, 2, 0, 0, 1, 1, 2, 3, 4), 1000],
  ]
  for (const [name, bytes, code] of ends) {
    const client = open(t, served, all)
    await client.head()
    await untilWatches(served, 1)
    if (bytes === undefined) client.socket.end()
    else client.socket.write(bytes)
    t.strictSame(await client.next(), { opcode: opcodes.close, payload: closed(code) }, name)
    t.equal(await client.next(), undefined, name)
    client.socket.destroy()
    await untilWatches(served, 0)
  }
})

t.test('what comes with the handshake is read', async t => {
  const served = await startServed(t)
  const client = open(t, served, all)
  client.socket.write(maskedFrame(opcodes.ping, Buffer.from('early')))
  await client.head()
  t.equal((await client.next())!.payload.toString(), 'early')
})

t.test('requests for other upgrades keep their bodies, and their connections', async t => {
  const served = await startServed(t)
  const client = open(t, served, '/version', {
    Connection: 'Upgrade, HTTP2-Settings',
    Upgrade: 'h2c',
    'HTTP2-Settings': 'AAMAAABk',
  })
  t.match(await client.head(), /^HTTP\/1.1 200 OK\r\n[^]*connection: keep-alive/i)
})
