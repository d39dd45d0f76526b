/** WebSockets of streams: messages in pieces, and what RFC 6455 forbids. */

import t from 'tap'
import { acceptance, WebSocketServer } from '../../../lib/simulator/streams/web-socket.ts'
import { settle } from '../../support/fake-clock.ts'
import { maskedFrame as frame, streamServices, StreamWire } from '../../support/http/stream-wire.ts'

function open(early = Buffer.alloc(0)): {
  wire: StreamWire
  server: WebSocketServer
  told: string[]
} {
  const wire = new StreamWire()
  const told: string[] = []
  const server = new WebSocketServer({ socket: wire, head: '', early }, streamServices(), {
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

const text = Buffer.from('text')
const hostile: readonly (readonly [name: string, bytes: Buffer, code: number])[] = [
  ['a frame without a mask', Buffer.of(0x82, 1, 65), 1002],
  [
    'a frame that announces too much',
    Buffer.of(0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4),
    1009,
  ],
  ['bits that nobody has agreed on', Buffer.of(0xc2, 0x80, 1, 2, 3, 4), 1002],
  ['an unknown frame', frame(5, Buffer.of(1)), 1002],
  ['a ping that is too long', frame(9, Buffer.alloc(126)), 1002],
  ['a long ping, by its head', frame(9, Buffer.alloc(1_000_000)).subarray(0, 2), 1002],
  ['a pong that is too long', frame(10, Buffer.alloc(300)), 1002],
  ['a ping in parts', frame(9, text, false), 1002],
  ['a part of no message', frame(0, text), 1002],
  ['a message within another', Buffer.concat([frame(2, text, false), frame(2, text)]), 1002],
  ['a message whose parts are too much', tooMuchInParts(), 1009],
  ['a close with half a code', frame(8, Buffer.of(3)), 1002],
  ['a close with a code that none may send', frame(8, Buffer.of(3, 0xee)), 1002],
]

function tooMuchInParts(): Buffer {
  const part = Buffer.alloc(600_000)
  return Buffer.concat([frame(2, part, false), frame(0, part, false)])
}

t.test('a client that breaks the rules is told so, and cut off', async t => {
  for (const [name, bytes, code] of hostile) {
    const { wire, told } = open()
    wire.push(bytes)
    await settle()
    t.same(told, ['over'], name)
    t.equal(wire.destroyed, true, name)
    t.equal(wire.text, `\x88\x02\x03${String.fromCharCode(code & 0xff)}`, name)
  }
})

t.test('control frames may come within a message', async t => {
  const { wire, told } = open()
  wire.push(Buffer.concat([frame(2, Buffer.from('tw'), false), frame(9, text), frame(0, text)]))
  await settle()
  t.same(told, ['twtext'])
  t.equal(wire.text, '\x8a\x04text')
})

t.test('a client that reads nothing is cut off', async t => {
  const { wire, server, told } = open()
  wire.isStuck = true
  for (let i = 0; i < 10; i++) server.send(Buffer.alloc(1024 * 1024))
  t.same(told, ['over'])
})
