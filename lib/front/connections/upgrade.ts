/** Upgrades: exec, attach and port-forward, over SPDY/3.1 or WebSocket. Each has its own connection to the upstream, which no other request
 *  ever uses, and which is closed after any answer but 101: the connection of a failed upgrade must not become a tunnel into the upstream
 *  (CVE-2018-1002105).
 *
 *  ```
 *   connecting ──▶ asked ──(101)──▶ switched ──▶ over
 *        │           └──(other)──▶ refused ────▲
 *        └─────────────(failure)───────────────┘
 *  ``` */

import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { upstreamFailure } from '../upstream/failure.ts'
import type { ForwardControl, TunnelRequest, TunnelSink } from '../upstream/upstream.ts'
import type { UpstreamIdentity } from '../../http/auth/upstream-calls.ts'
import { AnswerParser, type AnswerSink } from './answer-parser.ts'
import { ConnectionError } from './connection.ts'
import { requestHead } from './request-head.ts'

/** The server to connect to. */
export interface Connector {
  readonly url: URL
  connect(as: UpstreamIdentity, onConnect: () => void): Socket
}

export interface TunnelHooks {
  readonly sink: TunnelSink
  /** The connection has ended. Called once. */
  readonly onEnd: () => void
  readonly onUnreachable: (error: unknown) => void
}

/** Asks a server for an upgrade, on a new connection. */
export class Tunnel implements AnswerSink, ForwardControl {
  readonly #hooks: TunnelHooks
  readonly #parser: AnswerParser
  #socket: Socket | undefined = undefined
  #state: 'connecting' | 'asked' | 'refused' | 'switched' | 'over' = 'connecting'

  constructor(hooks: TunnelHooks) {
    this.#hooks = hooks
    this.#parser = new AnswerParser(this)
  }

  /** Connects and sends the request. Never throws: failures go to the sink. */
  begin(server: Connector, { method, path, headers, as }: TunnelRequest): void {
    try {
      const { host } = server.url
      const { text } = requestHead({ method, path, headers, host, hasBody: false })
      this.#parser.expectUpgrade()
      const socket = server.connect(as, () => {
        this.#state = 'asked'
        socket.write(text, 'latin1')
      })
      this.#socket = socket
      socket.on('data', this.#take)
      socket.on('error', this.#fail)
      socket.on('end', this.#sawEnd)
      socket.on('close', this.#closed)
    } catch (error) {
      this.#fail(error)
    }
  }

  resume(): void {
    this.#socket?.resume()
  }

  abort(): void {
    if (this.#state !== 'switched') this.#end()
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#state = 'refused'
    this.#hooks.sink.started(code, headers)
  }

  data(piece: Uint8Array): void {
    if (!this.#hooks.sink.data(piece)) this.#socket?.pause()
  }

  ended(trailers: IncomingHttpHeaders): void {
    this.#end()
    this.#hooks.sink.ended(trailers)
  }

  switched(head: string, rest: Uint8Array): void {
    const socket = this.#socket
    if (socket === undefined) return
    this.#state = 'switched'
    socket.off('data', this.#take)
    socket.off('error', this.#fail)
    socket.off('end', this.#sawEnd)
    socket.pause()
    if (rest.length > 0) socket.unshift(rest)
    this.#hooks.sink.switched(head, socket)
  }

  readonly #take = (bytes: Buffer): void => {
    if (this.#state === 'over') return
    try {
      this.#parser.take(bytes)
    } catch (error) {
      this.#fail(error)
    }
  }

  readonly #sawEnd = (): void => {
    if (!this.#parser.close()) this.#fail(new ConnectionError('ECONNRESET', 'it ended too early'))
  }

  readonly #closed = (): void => {
    if (this.#state === 'switched') this.#end()
    else this.#fail(new ConnectionError('ECONNRESET', 'the connection was closed'))
  }

  readonly #fail = (error: unknown): void => {
    if (this.#state === 'over') return
    const wasSent = this.#state !== 'connecting'
    this.#end()
    const failure = upstreamFailure(error, wasSent)
    if (!wasSent && failure !== error) this.#hooks.onUnreachable(error)
    this.#hooks.sink.failed(failure)
  }

  #end(): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.#socket?.destroy()
    this.#hooks.onEnd()
  }
}
