/** Frames that an etcd, or whoever stands before it, sends on the connection for short questions
 *  (lib/etcd/grpc/quick-connection.ts): each could be answered, or kept, without end. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { type NoAnswer, QuickConnection } from '../../lib/etcd/grpc/quick-connection.ts'
import { flag, frameType } from '../../lib/wire/http2/frames.ts'
import { pseudoField } from '../../lib/wire/http2/hpack/encoder.ts'
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

/** The answer to a question to which a server sends these bytes. */
async function answerTo(t: Test, bytes: Buffer): Promise<Buffer | NoAnswer> {
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.write(settings)
    // The question has the word of its path.
    socket.on('data', (asked: Buffer) => {
      if (asked.includes('question')) socket.end(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  const connection = new QuickConnection(socket, { nowMs: () => 0, onEnd: () => undefined })
  while (!connection.canSend(10)) await new Promise(resolve => setImmediate(resolve))
  const block = pseudoField(':path', '/question')
  return new Promise(resolve => {
    connection.call({ block, message: nothing, deadlineMs: 600_000 }, resolve)
  })
}

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

for (const [name, odd] of Object.entries(aside)) {
  t.test(`${name} beside an answer are borne with, and a flood of them is not`, async t => {
    const few = Buffer.concat([repeated(odd, 20), head, data(message), end])
    t.same(await answerTo(t, few), message.subarray(5))
    const many = Buffer.concat([repeated(odd, 300), head, data(message), end])
    t.equal(await answerTo(t, many), 'unknown')
  })
}

t.test('an answer in a few pieces is read, and one in crumbs, or of nothing, is not', async t => {
  const crumbs = (size: number, empty: number): Buffer => {
    const pieces: Buffer[] = [head]
    for (let at = 0; at < message.length; at += size) {
      pieces.push(data(message.subarray(at, at + size)), repeated(data(nothing), empty))
    }
    return Buffer.concat([...pieces, end])
  }
  t.same(await answerTo(t, crumbs(2, 1)), message.subarray(5))
  t.equal(await answerTo(t, crumbs(5, 200)), 'unknown')
  const long = Buffer.concat([Buffer.from('00000000c8', 'hex'), Buffer.alloc(200)])
  const pieces = Array.from(long, byte => data(Buffer.of(byte)))
  t.equal(await answerTo(t, Buffer.concat([head, ...pieces, end])), 'unknown')
})
