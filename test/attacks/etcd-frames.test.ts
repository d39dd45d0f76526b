/** Frames that an etcd, or whoever stands before it, sends on a connection
 *  (lib/etcd/grpc/connection.ts): each could be answered, or kept, without end. */

import t from 'tap'
import type { CallStatus } from '../../lib/etcd/grpc/call.ts'
import { createRandom, randomInt } from '../../lib/base/random.ts'
import { flag, frameType } from '../../lib/etcd/http2/frames.ts'
import { outcomeOf } from '../support/attacks/etcd-answer.ts'
import { frame, headerBlock } from '../support/attacks/raw-http2.ts'

const nothing = Buffer.alloc(0)
const settings = frame(frameType.settings, 0, 0, nothing)
const isOk = Buffer.of(0x88)
const head = frame(frameType.headers, flag.endHeaders, 1, isOk)
const message = Buffer.from('00000000050102030405', 'hex')
const data = (payload: Buffer): Buffer => frame(frameType.data, 0, 1, payload)
const end = frame(
  frameType.headers,
  flag.endHeaders | flag.endStream,
  1,
  headerBlock([['grpc-status', '0']]),
)

function repeated(bytes: Buffer, times: number): Buffer {
  return Buffer.concat(Array.from({ length: times }, () => bytes))
}

const aside = {
  settings,
  pings: frame(frameType.ping, 0, 0, Buffer.alloc(8)),
  windows: frame(frameType.windowUpdate, 0, 0, Buffer.of(0, 0, 0, 1)),
  'frames of other streams': frame(frameType.headers, flag.endHeaders, 7, isOk),
  'frames that are not known': frame(99, 0, 0, nothing),
}

const isWell = { messages: ['0102030405'], status: { code: 0, details: '' } }

for (const [name, odd] of Object.entries(aside)) {
  t.test(`${name} beside an answer are borne with, and a flood of them is not`, async t => {
    const few = Buffer.concat([repeated(odd, 200), head, data(message), end])
    t.strictSame(await outcomeOf(few), isWell)
    const many = Buffer.concat([repeated(odd, 2000), head, data(message), end])
    t.match(await outcomeOf(many), {
      messages: [],
      status: { code: 14, details: 'too much beside its answers' },
    })
  })
}

t.test('a message in pieces is read, and one of nothing is not', async t => {
  const crumbs = (size: number, empty: number): Buffer => {
    const pieces: Buffer[] = [head]
    for (let at = 0; at < message.length; at += size) {
      pieces.push(data(message.subarray(at, at + size)), repeated(data(nothing), empty))
    }
    return Buffer.concat([...pieces, end])
  }
  t.strictSame(await outcomeOf(crumbs(2, 1)), isWell)
  t.strictSame(await outcomeOf(crumbs(1, 0)), isWell)
  t.match(await outcomeOf(crumbs(5, 2000)), { messages: [], status: { code: 14 } })
  const two = Buffer.concat([head, data(Buffer.concat([message, message])), end])
  t.same((await outcomeOf(two)).messages.length, 2)
})

t.test('frames that were changed by chance end the call, and nothing else', async t => {
  const random = createRandom(7)
  const trailers = headerBlock([
    ['grpc-status', '0'],
    ['grpc-message', 'x'.repeat(300)],
  ])
  const sound = Buffer.concat([
    settings,
    frame(frameType.ping, 0, 0, Buffer.alloc(8)),
    frame(frameType.windowUpdate, 0, 0, Buffer.of(0, 0, 1, 0)),
    head,
    data(message.subarray(0, 3)),
    data(message.subarray(3)),
    frame(frameType.headers, flag.endStream, 1, trailers.subarray(0, 20)),
    frame(frameType.continuation, flag.endHeaders, 1, trailers.subarray(20)),
  ])
  t.strictSame((await outcomeOf(sound)).messages, isWell.messages)
  let wrong = 0
  for (let i = 0; i < 400; i++) {
    const changed = Buffer.from(sound)
    for (let changes = randomInt(random, 1, 4); changes > 0; changes--) {
      changed[randomInt(random, 0, changed.length - 1)] = randomInt(random, 0, 255)
    }
    const { status } = await outcomeOf(changed)
    t.type(status.code, 'number')
    if (status.code !== 0) wrong++
  }
  t.ok(wrong > 50, `${wrong} of 400 were noticed`)
})

t.test('what breaks the rules ends the call, or the connection, and says so', async t => {
  const headersOf = (fields: [string, string][], flags: number): Buffer =>
    frame(frameType.headers, flags, 1, headerBlock(fields))
  const whole = flag.endHeaders | flag.endStream
  const refusal = headersOf(
    [
      [':status', '200'],
      ['grpc-status', '8'],
      ['grpc-message', 'too%20many'],
    ],
    whole,
  )
  const part = (flags: number, payload: Buffer, type: number = frameType.headers): Buffer =>
    frame(type, flags, 1, payload)
  const trailers = headerBlock([
    ['grpc-status', '5'],
    ['grpc-message', 'x'.repeat(20_000)],
  ])
  const odd: Readonly<Record<string, readonly [Buffer, Partial<CallStatus>]>> = {
    'trailers alone': [refusal, { code: 8, details: 'too many' }],
    'trailers in two frames': [
      Buffer.concat([
        head,
        part(flag.endStream, trailers.subarray(0, 10_000)),
        part(flag.endHeaders, trailers.subarray(10_000), frameType.continuation),
      ]),
      { code: 5, details: 'x'.repeat(20_000) },
    ],
    'headers without end': [
      Buffer.concat([
        part(0, isOk),
        repeated(part(0, Buffer.alloc(8000, 'x'), frameType.continuation), 20),
      ]),
      { code: 14, details: 'Protocol error' },
    ],
    'another frame within headers': [
      Buffer.concat([part(0, isOk), settings]),
      { code: 14, details: 'Protocol error' },
    ],
    'a body without headers': [
      data(message),
      { code: 13, details: 'it sent a body without headers' },
    ],
    'a compressed message': [
      Buffer.concat([head, data(Buffer.from('0100000001ff', 'hex'))]),
      { code: 13, details: 'it sent a compressed message' },
    ],
    'half a message': [
      Buffer.concat([head, data(message.subarray(0, 7)), end]),
      { code: 13, details: 'the stream has ended within a message' },
    ],
    'a message beyond all bounds': [
      Buffer.concat([head, data(Buffer.from('00ffffffff00', 'hex'))]),
      { code: 13, details: `it sent a message of ${0xffff_ffff} bytes` },
    ],
    'data that ends the stream': [
      Buffer.concat([head, part(flag.endStream, message, frameType.data)]),
      { code: 2 },
    ],
    'not 200': [headersOf([[':status', '503']], whole), { code: 14 }],
    'a reset': [part(0, Buffer.of(0, 0, 0, 11), frameType.reset), { code: 8 }],
    'a refused stream': [
      part(0, Buffer.of(0, 0, 0, 7), frameType.reset),
      { code: 14, isUnsent: true },
    ],
    'a connection that is told to end': [
      frame(frameType.goAway, 0, 0, Buffer.alloc(8)),
      { code: 14, isUnsent: true },
    ],
    'no frame': [Buffer.alloc(20, 0xff), { code: 14, details: 'Protocol error' }],
    'a pushed stream': [
      frame(frameType.push, flag.endHeaders, 1, Buffer.of(0, 0, 0, 2, 0x88)),
      { code: 14, details: 'Protocol error' },
    ],
    nothing: [nothing, { code: 14, details: 'Connection dropped' }],
  }
  for (const [name, [bytes, status]] of Object.entries(odd)) {
    t.match((await outcomeOf(bytes)).status, status, name)
  }
  t.match((await outcomeOf(head, 0)).status, { code: 4 }, 'nothing in time')
})
