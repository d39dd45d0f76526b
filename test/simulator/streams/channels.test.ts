/** The channels of exec over SPDY: which protocol is spoken, and what ends a client. */

import t from 'tap'
import {
  type ChannelProtocol,
  channelProtocol,
  type Channels,
  openChannels,
} from '../../../lib/simulator/streams/channels.ts'
import { forwardProtocol } from '../../../lib/simulator/streams/port-forward.ts'
import type { HttpRequest } from '../../../lib/cache/http/server/http-request.ts'
import { dataFrame, HeaderBlocks, openFrame } from '../../support/http/spdy-client.ts'
import { streamServices, StreamWire } from '../../support/http/stream-wire.ts'

function requestOf(
  headers: Readonly<Record<string, string>>,
  wire = new StreamWire(),
): HttpRequest {
  return {
    headers,
    takeover: { socket: wire, take: () => Buffer.alloc(0) },
  } as unknown as HttpRequest
}

const rows: readonly (readonly [
  headers: Readonly<Record<string, string>>,
  exec: ChannelProtocol | undefined,
  forward: string | undefined,
])[] = [
  [{}, undefined, undefined],
  [
    { upgrade: 'WebSocket', 'sec-websocket-protocol': 'v4.channel.k8s.io, v5.channel.k8s.io' },
    'v5.channel.k8s.io',
    undefined,
  ],
  [{ upgrade: 'websocket', 'sec-websocket-protocol': 'x' }, undefined, undefined],
  [
    { upgrade: 'websocket', 'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io' },
    undefined,
    'tunnel',
  ],
  [
    { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v5.channel.k8s.io, v4.channel.k8s.io' },
    'spdy',
    undefined,
  ],
  [{ upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'channel.k8s.io' }, undefined, undefined],
  [{ upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'portforward.k8s.io' }, undefined, 'plain'],
  [{ upgrade: 'h2c' }, undefined, undefined],
]

t.test('the protocol that both know', async t => {
  for (const [headers, exec, forward] of rows) {
    t.equal(channelProtocol(requestOf(headers)), exec, JSON.stringify(headers))
    t.equal(forwardProtocol(requestOf(headers)), forward, JSON.stringify(headers))
  }
})

interface Opened {
  readonly wire: StreamWire
  readonly channels: Channels
  readonly told: string[]
  /** Resolves once that has been told. */
  readonly until: (text: string) => Promise<void>
}

function open(...asked: readonly string[]): Opened {
  const wire = new StreamWire()
  const told: string[] = []
  let next: () => void = () => {}
  const tell = (text: string): void => {
    told.push(text)
    next()
  }
  const channels = openChannels(
    requestOf({}, wire),
    { protocol: 'spdy', asked: new Set(asked), ...streamServices() },
    {
      ready: () => tell('ready'),
      input: bytes => tell(bytes.toString()),
      inputEnd: () => tell('end'),
      touched: () => {},
      over: () => tell('over'),
    },
  )
  const until = async (text: string): Promise<void> => {
    while (!told.includes(text)) await new Promise<void>(resolve => (next = resolve))
  }
  return { wire, channels, told, until }
}

t.test('the streams that a client opens are its channels', async t => {
  const { wire, channels, told, until } = open('stdin', 'stdout')
  const blocks = new HeaderBlocks()
  for (const [i, streamtype] of ['error', 'stdin', 'stdout'].entries()) {
    wire.push(openFrame(2 * i + 1, await blocks.block({ streamtype })))
  }
  wire.push(Buffer.concat([dataFrame(3, 'in'), dataFrame(5, 'no input'), dataFrame(3, '', 1)]))
  await until('end')
  t.strictSame(told, ['ready', 'in', 'end'])
  t.match(wire.sent[0]?.toString(), /^HTTP\/1\.1 101 .*X-Stream-Protocol-Version: v4\.channel/s)
  channels.send('stdout', Buffer.from('out'))
  channels.send('stderr', Buffer.from('nobody has asked for it'))
  channels.close()
  t.strictSame(
    wire.sent.slice(-3).map(bytes => bytes.toString('latin1')),
    ['\0\0\0\x05\0\0\0\x03out', '\0\0\0\x05\x01\0\0\0', '\0\0\0\x01\x01\0\0\0'],
  )
  wire.destroy()
  await until('over')
})

t.test('a client that opens what it has not asked for is cut off', async t => {
  for (const names of [['stdin'], ['error', 'error'], ['__proto__']]) {
    const { wire, told, until } = open('stdout')
    const blocks = new HeaderBlocks()
    for (const [i, streamtype] of names.entries()) {
      wire.push(openFrame(2 * i + 1, await blocks.block({ streamtype })))
    }
    await until('over')
    t.strictSame(told, ['over'], names.join(' '))
  }
})

t.test('a client that reads nothing is cut off', async t => {
  const { wire, channels, until } = open('stdout')
  const blocks = new HeaderBlocks()
  for (const [i, streamtype] of ['error', 'stdout'].entries()) {
    wire.push(openFrame(2 * i + 1, await blocks.block({ streamtype })))
  }
  await until('ready')
  wire.isStuck = true
  for (let i = 0; i < 50 && !wire.destroyed; i++) channels.send('stdout', Buffer.alloc(100_000))
  await until('over')
  t.ok(wire.destroyed)
})
