/** SPDY/3.1 as clients of Kubernetes speak it: frames in pieces, and what breaks them. */

import { constants, createInflate } from 'node:zlib'
import t from 'tap'
import { plainOf } from '../../../lib/simulator/streams/carrier.ts'
import { SpdySession } from '../../../lib/simulator/streams/spdy.ts'
import { dictionary } from '../../../lib/simulator/streams/spdy-headers.ts'
import { controlFrame, dataFrame, HeaderBlocks, openFrame } from '../../support/http/spdy-client.ts'
import { settle } from '../../support/fake-clock.ts'
import { streamServices, StreamWire } from '../../support/http/stream-wire.ts'

/** The client, which keeps all that it is told. */
class Client {
  readonly told: string[] = []
  readonly blocks = new HeaderBlocks()
  readonly wire = new StreamWire()
  readonly services = streamServices()
  readonly session: SpdySession
  #next: () => void = () => {}

  constructor() {
    const tell = (text: string): void => {
      this.told.push(text)
      this.#next()
    }
    const agreed = { socket: this.wire, head: '', early: Buffer.alloc(0) }
    const carrier = plainOf(agreed, this.services, {
      bytes: bytes => this.session.take(bytes),
      drained: () => {},
      over: () => tell('over'),
    })
    this.session = new SpdySession(carrier, this.services, {
      open: (stream, headers) => tell(`open ${stream} ${[...headers].flat().join(' ')}`),
      data: (stream, bytes) => tell(`data ${stream} ${bytes.toString()}`),
      end: stream => tell(`end ${stream}`),
      reset: stream => tell(`reset ${stream}`),
    })
  }

  get sent(): readonly Buffer[] {
    return this.wire.sent.filter(bytes => bytes.length > 0)
  }

  /** Waits until so much has been told. */
  async until(count: number): Promise<readonly string[]> {
    while (this.told.length < count) await new Promise<void>(resolve => (this.#next = resolve))
    return this.told
  }
}

t.test('streams, bytes and their ends, however they come in pieces', async t => {
  const client = new Client()
  const whole = Buffer.concat([
    controlFrame(4, Buffer.alloc(4)),
    openFrame(1, await client.blocks.block({ streamtype: 'error', port: '80' }), 1),
    openFrame(3, await client.blocks.block({ StreamType: 'data' })),
    dataFrame(3, 'hello'),
    controlFrame(6, Buffer.of(0, 0, 0, 7)),
    dataFrame(3, 'bye', 1),
    controlFrame(3, Buffer.of(0, 0, 0, 1, 0, 0, 0, 5)),
  ])
  for (const byte of whole) client.session.take(Buffer.of(byte))
  t.strictSame(await client.until(7), [
    'open 1 streamtype error port 80',
    'end 1',
    'open 3 streamtype data',
    'data 3 hello',
    'data 3 bye',
    'end 3',
    'reset 1',
  ])
  const [first, second, ping] = client.sent
  t.equal(first?.subarray(0, 4).toString('hex'), '80030002', 'each stream is agreed to')
  t.equal(first?.readUInt32BE(8), 1)
  t.equal(second?.readUInt32BE(8), 3)
  t.equal(ping?.toString('hex'), '800300060000000400000007')
  const inflate = createInflate({ dictionary })
  inflate.write(first!.subarray(12))
  inflate.write(second!.subarray(12))
  await new Promise<void>(resolve => inflate.flush(constants.Z_SYNC_FLUSH, resolve))
  t.equal((inflate.read() as Buffer).toString('hex'), '0000000000000000', 'with no headers')
  inflate.destroy()
  client.session.data(3, Buffer.from('x'))
  client.session.end(3)
  t.strictSame(
    client.sent.slice(3).map(bytes => bytes.toString('hex')),
    ['000000030000000178', '0000000301000000'],
  )
  client.session.close()
  client.session.data(3, Buffer.from('x'))
  t.equal(client.sent.length, 5, 'nothing is sent after the end')
})

t.test('a client that sends on while headers are read has to wait', async t => {
  const client = new Client()
  client.session.take(openFrame(1, await client.blocks.block({ streamtype: 'data' })))
  const piece = dataFrame(1, 'x'.repeat(700_000))
  for (let i = 0; i < 3; i++) client.session.take(piece)
  t.ok(client.wire.isPaused(), 'at once')
  const told = (await client.until(4)).map(text => text.slice(0, 12))
  const data = 'data 1 xxxxx'
  t.strictSame(told, ['open 1 strea', data, data, data])
  await settle()
  t.notOk(client.wire.isPaused())
})

const broken: readonly (readonly [
  what: string,
  bytes: (client: Client) => Buffer | Promise<Buffer>,
])[] = [
  ['a long frame', () => Buffer.of(0, 0, 0, 1, 0, 0xff, 0xff, 0xff)],
  ['a stream without a number', () => controlFrame(1, Buffer.alloc(4))],
  ['no headers', () => openFrame(1, Buffer.from('nothing'))],
  [
    'headers that end too early',
    async ({ blocks }) => openFrame(1, await blocks.deflated(Buffer.of(0, 0, 0, 1))),
  ],
  [
    'a name that is longer than the block',
    async ({ blocks }) => openFrame(1, await blocks.deflated(Buffer.of(0, 0, 0, 1, 0xff, 0, 0, 0))),
  ],
  ['a bomb', async ({ blocks }) => openFrame(1, await blocks.deflated(Buffer.alloc(1e7)))],
  ['a farewell', () => controlFrame(7, Buffer.alloc(8))],
  ['a ping that is too long', () => controlFrame(6, Buffer.alloc(5))],
  ['the stream of no number', async ({ blocks }) => openFrame(0, await blocks.block({}))],
]

t.test('what breaks the protocol ends it', async t => {
  for (const [what, bytes] of broken) {
    const client = new Client()
    client.session.take(await bytes(client))
    t.strictSame(await client.until(1), ['over'], what)
    client.session.take(dataFrame(1, 'x'))
    t.equal(client.told.length, 1, 'nothing is read any more')
  }
})

t.test('numbers of streams rise', async t => {
  for (const number of [3, 1]) {
    const client = new Client()
    const { blocks, session } = client
    session.take(openFrame(3, await blocks.block({ streamtype: 'error' })))
    session.take(openFrame(number, await blocks.block({ streamtype: 'data' })))
    t.strictSame(await client.until(2), ['open 3 streamtype error', 'over'], String(number))
  }
})
