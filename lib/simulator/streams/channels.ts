/** The channels of `exec` and `attach`: over a WebSocket, where the first byte of a message names
 *  one, or over SPDY, where each is a stream that the client opens. */

import type { HttpRequest } from '@watchglass/cache'
import { type Carrier, listedIn, plainOf, spdyOf, upgradeOf, webSocketOf } from './carrier.ts'
import type { StreamServices } from './stream-frames.ts'
import { SpdySession } from './spdy.ts'
import { WebSocketServer } from './web-socket.ts'

/** The newest first. */
const webSocketProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const
const spdyProtocol = 'v4.channel.k8s.io'

const numbers = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 }

/** The channels by which the server tells something. */
export type OutputChannel = 'stdout' | 'stderr' | 'error'

export interface Channels {
  send(channel: OutputChannel, bytes: Buffer): void
  /** Ends the connection when all is sent. */
  close(): void
  destroy(): void
}

export interface ChannelEvents {
  /** All channels are there. */
  readonly ready: () => void
  readonly input: (bytes: Buffer) => void
  readonly inputEnd: () => void
  /** Something came from the client. */
  readonly touched: () => void
  readonly over: () => void
}

export type ChannelProtocol = (typeof webSocketProtocols)[number] | 'spdy'

/** The protocol that both know; undefined if the request is for none that is spoken here. */
export function channelProtocol(request: HttpRequest): ChannelProtocol | undefined {
  if (request.takeover === undefined) return undefined
  if (upgradeOf(request) === 'websocket') {
    const offered = listedIn(request, 'sec-websocket-protocol')
    return webSocketProtocols.find(one => offered.includes(one))
  }
  const isSpoken = listedIn(request, 'x-stream-protocol-version').includes(spdyProtocol)
  return upgradeOf(request) === 'spdy/3.1' && isSpoken ? 'spdy' : undefined
}

/** The channels that the client is to open beside `error`. */
export type AskedChannels = ReadonlySet<string>

export interface ChannelOptions extends StreamServices {
  readonly protocol: ChannelProtocol
  readonly asked: AskedChannels
}

/** Agrees to the upgrade. */
export function openChannels(
  request: HttpRequest,
  options: ChannelOptions,
  events: ChannelEvents,
): Channels {
  return options.protocol === 'spdy'
    ? new SpdyChannels(request, options, events)
    : webSocketChannels(request, options, events)
}

function webSocketChannels(
  request: HttpRequest,
  options: ChannelOptions,
  { ready, input, inputEnd, touched, over }: ChannelEvents,
): Channels {
  const connection = new WebSocketServer(webSocketOf(request, options.protocol), options, {
    message: message => {
      touched()
      const [channel, of] = message
      if (channel === numbers.stdin) input(message.subarray(1))
      else if (channel === numbers.close && of === numbers.stdin) inputEnd()
    },
    over,
  })
  queueMicrotask(ready)
  return {
    send: (channel, bytes) => connection.send(Buffer.concat([Buffer.of(numbers[channel]), bytes])),
    close: () => connection.close(),
    destroy: () => connection.client.destroy(),
  }
}

class SpdyChannels implements Channels {
  readonly #session: SpdySession
  readonly #carrier: Carrier
  readonly #asked: AskedChannels
  readonly #events: ChannelEvents
  readonly #streams = new Map<string, number>()

  constructor(request: HttpRequest, options: ChannelOptions, events: ChannelEvents) {
    this.#asked = options.asked
    this.#events = events
    this.#carrier = plainOf(spdyOf(request, spdyProtocol), options, {
      bytes: bytes => {
        events.touched()
        this.#session.take(bytes)
      },
      drained: () => {},
      over: () => {
        this.#session.close()
        events.over()
      },
    })
    this.#session = new SpdySession(this.#carrier, options, {
      open: (stream, headers) => this.#open(stream, headers.get('streamtype') ?? ''),
      data: (stream, bytes) => {
        if (stream === this.#streams.get('stdin')) events.input(bytes)
      },
      end: stream => {
        if (stream === this.#streams.get('stdin')) events.inputEnd()
      },
      reset: () => {},
    })
  }

  send(channel: OutputChannel, bytes: Buffer): void {
    const stream = this.#streams.get(channel)
    if (stream !== undefined) this.#session.data(stream, bytes)
  }

  /** The client ends the connection once it has read all. */
  close(): void {
    for (const channel of ['stdout', 'stderr', 'error']) {
      const stream = this.#streams.get(channel)
      if (stream !== undefined) this.#session.end(stream)
    }
  }

  destroy(): void {
    this.#carrier.client.destroy()
  }

  #open(stream: number, channel: string): void {
    const isAsked = channel === 'error' || this.#asked.has(channel)
    if (!isAsked || this.#streams.has(channel)) return this.destroy()
    this.#streams.set(channel, stream)
    if (this.#streams.size === this.#asked.size + 1) this.#events.ready()
  }
}
