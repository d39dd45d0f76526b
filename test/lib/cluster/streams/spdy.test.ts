/** SPDY/3.1 as clients of Kubernetes speak it: frames in pieces, and what breaks them. */

import { constants, createInflate } from 'node:zlib'
import t from 'tap'
import { SpdySession } from '../../../../lib/cluster/streams/spdy.ts'
import { dictionary } from '../../../../lib/cluster/streams/spdy-headers.ts'
import {
  controlFrame,
  dataFrame,
  HeaderBlocks,
  openFrame,
} from '../../../support/http/spdy-client.ts'

/** The client, which keeps all that it is told. */
class Client {
  readonly told: string[] = []
  readonly sent: Buffer[] = []
  readonly blocks = new HeaderBlocks()
  readonly session: SpdySession
  #next: () => void = () => {}

  constructor() {
    const tell = (text: string): void => {
      this.told.push(text)
      this.#next()
    }
    this.session = new SpdySession({
      send: bytes => this.sent.push(bytes),
      open: (stream, headers) => tell(`open ${stream} ${[...headers].flat().join(' ')}`),
      data: (stream, bytes) => tell(`data ${stream} ${bytes.toString()}`),
      end: stream => tell(`end ${stream}`),
      reset: stream => tell(`reset ${stream}`),
      behind: isBehind => tell(isBehind ? 'behind' : 'not behind'),
      fail: reason => tell(`fail ${reason}`),
    })
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
  t.strictSame(client.told, ['behind'], 'at once')
  const told = (await client.until(6)).map(text => text.slice(0, 12))
  const data = 'data 1 xxxxx'
  t.strictSame(told, ['behind', 'open 1 strea', 'not behind', data, data, data])
})

const broken: readonly (readonly [
  what: string,
  bytes: (client: Client) => Buffer | Promise<Buffer>,
  reason: RegExp,
])[] = [
  ['a long frame', () => Buffer.of(0, 0, 0, 1, 0, 0xff, 0xff, 0xff), /a frame is too long/],
  ['a stream without a number', () => controlFrame(1, Buffer.alloc(4)), /a stream has no number/],
  ['no headers', () => openFrame(1, Buffer.from('nothing')), /incorrect header check/],
  [
    'headers that end too early',
    async ({ blocks }) => openFrame(1, await blocks.deflated(Buffer.of(0, 0, 0, 1))),
    /headers end too early/,
  ],
  [
    'a name that is longer than the block',
    async ({ blocks }) => openFrame(1, await blocks.deflated(Buffer.of(0, 0, 0, 1, 0xff, 0, 0, 0))),
    /headers end too early/,
  ],
  [
    'a bomb',
    async ({ blocks }) => openFrame(1, await blocks.deflated(Buffer.alloc(1e7))),
    /headers are too long/,
  ],
  ['a farewell', () => controlFrame(7, Buffer.alloc(8)), /the client leaves/],
]

t.test('what breaks the protocol ends it', async t => {
  for (const [what, bytes, reason] of broken) {
    const client = new Client()
    client.session.take(await bytes(client))
    t.match(await client.until(1), [reason], what)
    client.session.take(dataFrame(1, 'x'))
    t.equal(client.told.length, 1, 'nothing is read any more')
  }
})
