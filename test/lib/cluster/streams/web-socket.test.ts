import { Duplex } from 'node:stream'
import t from 'tap'
import { acceptance, WebSocketServer } from '../../../../lib/cluster/streams/web-socket.ts'
import { settle } from '../../../support/fake-clock.ts'

/** A connection whose client sends what the test says. */
class Wire extends Duplex {
  readonly sent: Buffer[] = []

  override _read(): void {}

  override _write(piece: Buffer, _: string, done: () => void): void {
    this.sent.push(piece)
    done()
  }
}

function frame(opcode: number, payload: Buffer, isLast = true): Buffer {
  const mask = Buffer.of(1, 2, 3, 4)
  const { length } = payload
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff]
  const masked = payload.map((byte, i) => byte ^ (mask[i & 3] ?? 0))
  return Buffer.concat([Buffer.of((isLast ? 0x80 : 0) | opcode, ...size), mask, masked])
}

function open(early = Buffer.alloc(0)): {
  wire: Wire
  server: WebSocketServer
  told: string[]
} {
  const wire = new Wire()
  const told: string[] = []
  const server = new WebSocketServer(wire, early, {
    message: bytes => void told.push(bytes.toString()),
    over: () => void told.push('over'),
  })
  return { wire, server, told }
}

t.test('the answer to an upgrade proves that the key was read', async t => {
  // The example of RFC 6455.
  const head = acceptance('dGhlIHNhbXBsZSBub25jZQ==', 'v5.channel.k8s.io')
  t.match(head, 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n')
  t.ok(head.endsWith('\r\n\r\n'))
})

t.test('messages are read however they come in pieces', async t => {
  const whole = Buffer.concat([
    frame(2, Buffer.from('one')),
    frame(2, Buffer.from('tw'), false),
    frame(0, Buffer.from('o')),
    frame(2, Buffer.alloc(300, 'x')),
  ])
  const { wire, told } = open(whole.subarray(0, 5))
  for (const byte of whole.subarray(5)) wire.push(Buffer.of(byte))
  await settle()
  t.same(told, ['one', 'two', 'x'.repeat(300)])
})

t.test('a ping is answered, and a close ends the connection', async t => {
  const { wire, told } = open()
  wire.push(frame(9, Buffer.from('are you there')))
  wire.push(frame(8, Buffer.of(3, 232)))
  await settle()
  t.same(told, ['over'])
  const sent = Buffer.concat(wire.sent)
  t.equal(sent[0], 0x8a)
  t.match(sent.toString('latin1'), 'are you there')
})

const hostile: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['a frame without a mask', Buffer.of(0x82, 1, 65)],
  ['a frame that announces too much', Buffer.of(0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4)],
  ['bits that nobody has agreed on', Buffer.of(0xc2, 0x80, 1, 2, 3, 4)],
  ['an unknown frame', frame(5, Buffer.of(1))],
]

t.test('a client that breaks the rules is cut off', async t => {
  for (const [name, bytes] of hostile) {
    const { wire, told } = open()
    wire.push(bytes)
    await settle()
    t.same(told, ['over'], name)
    t.equal(wire.destroyed, true, name)
  }
})

t.test('a client that reads nothing is cut off', async t => {
  const { wire, server, told } = open()
  wire._write = () => {}
  for (let i = 0; i < 10; i++) server.send(Buffer.alloc(1024 * 1024))
  t.same(told, ['over'])
})
