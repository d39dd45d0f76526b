import t from 'tap'
import {
  ClientFrames,
  type ClientState,
} from '../../../../../lib/cache/http/server/web-socket/client-frames.ts'
import {
  acceptOf,
  firstMessage,
  message,
  opcodes,
} from '../../../../../lib/cache/http/server/web-socket/messages.ts'
import { maskedFrame } from '../../../../support/http/stream-wire.ts'

const ping = (text: string): Buffer => maskedFrame(opcodes.ping, Buffer.from(text))

t.test('frames are read alike in whatever pieces they come', async t => {
  const all = Buffer.concat([
    ping('first'),
    maskedFrame(opcodes.text, Buffer.from('hello'), false),
    maskedFrame(opcodes.continuation, Buffer.alloc(70_000)),
    ping(''),
    maskedFrame(opcodes.binary, Buffer.alloc(300)),
    ping('last'),
    maskedFrame(opcodes.close, Buffer.alloc(2)),
    ping('after the end'),
  ])
  for (const size of [1, 2, 3, 7, 100, 65_536, all.length]) {
    const frames = new ClientFrames()
    const answers: string[] = []
    let state: ClientState = 'open'
    for (let at = 0; at < all.length; at += size) {
      state = frames.take(all.subarray(at, at + size))
      const answer = frames.takePing()
      if (answer !== undefined) answers.push(answer.toString())
    }
    t.equal(state, 'closed', `in pieces of ${size}`)
    t.equal(answers.at(-1), 'last')
    if (size === 1) t.strictSame(answers, ['first', '', 'last'])
  }
})

t.test('frames that end a watch', async t => {
  for (const [bytes, state] of [
    [Buffer.of(0x89, 0x01, 0x61), 'broken'],
    [Buffer.of(0x88, 0x00), 'broken'],
    [Buffer.of(0x82, 0xff, 0, 0, 0, 0, 2, 0, 0, 1, 1, 2, 3, 4), 'too large'],
    [Buffer.of(0x82, 0xff, 0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4), 'open'],
    [Buffer.of(0x82, 0xff, 0xff, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4), 'too large'],
    [Buffer.of(0x88, 0x82, 1, 2), 'open'],
    [Buffer.of(0x88, 0x82, 1, 2, 3, 4), 'closed'],
    // No ping is too long, though no more is answered than may be.
    [Buffer.of(0x89, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4), 'open'],
  ] as const) {
    t.equal(new ClientFrames().take(bytes), state, bytes.toString('hex'))
  }
})

t.test('a message is taken apart as it was made', async t => {
  for (const length of [0, 1, 125, 126, 65_535, 65_536, 200_000]) {
    const payload = Buffer.alloc(length, 'x')
    const both = Buffer.concat([message(opcodes.text, payload), Buffer.from('rest')])
    const { opcode, payload: found, rest } = firstMessage(both)
    t.equal(opcode, opcodes.text)
    t.ok(payload.equals(found), `${length}`)
    t.equal(Buffer.from(rest).toString(), 'rest')
  }
})

t.test('a key is answered as in RFC 6455', async t => {
  t.equal(acceptOf('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
})
