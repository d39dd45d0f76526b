/** The channels of a stream to a made-up pod, over a WebSocket: `kubectl exec` and `attach`. */

import { type Clock, sleep } from '../../base/clock.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import {
  type Container,
  execAnnotation,
  knownCommands,
  NoSuchCommand,
  runCommand,
  type Streams,
} from './shell.ts'
import { acceptance, WebSocketServer } from './web-socket.ts'

/** The newest first. */
const protocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const

const channels = { input: 0, output: 1, error: 2, status: 3, resize: 4, close: 255 }

/** A stream that nobody uses is ended after this. */
const idleMaxMs = 4 * 3_600_000
/** A client that does not close its side is left after this. */
const closeMaxMs = 5_000
/** Bytes of input that nobody has read; then the client is cut off. */
const inputMaxBytes = 4 * 1024 * 1024

export type Work =
  | { readonly type: 'exec'; readonly argv: readonly string[]; readonly container: Container }
  /** Shows the log, after which nothing comes. */
  | { readonly type: 'attach'; readonly log: string }

/** The protocol that both know; undefined if the request is for no stream that is spoken here. */
export function streamProtocol({ takeover, headers }: Exchange): string | undefined {
  if (takeover === undefined || (headers.upgrade ?? '').toLowerCase() !== 'websocket') {
    return undefined
  }
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map(one => one.trim())
  return protocols.find(one => offered.includes(one))
}

/** Agrees to the upgrade, does the work, and resolves when the connection is over. */
export function runStream(
  { takeover, headers }: Exchange,
  protocol: string,
  work: Work & { readonly isTerminal: boolean },
  clock: Clock,
): Promise<void> {
  return new Promise(resolve => {
    if (takeover === undefined) throw new TypeError('there is no connection to take over')
    const abort = new AbortController()
    const input = new Input()
    const { socket } = takeover
    const early = takeover.take()
    socket.write(acceptance(String(headers['sec-websocket-key']), protocol), 'latin1')
    let cancelIdle = (): void => {}
    const touch = (): void => {
      cancelIdle()
      cancelIdle = clock.setTimer(idleMaxMs, () => socket.destroy())
    }
    const connection = new WebSocketServer(socket, early, {
      message: bytes => {
        touch()
        if (!input.take(bytes)) socket.destroy()
      },
      over: () => {
        cancelIdle()
        abort.abort()
        input.end()
        resolve()
      },
    })
    touch()
    const send = (channel: number, text: string): void => {
      if (text !== '') connection.send(Buffer.concat([Buffer.of(channel), Buffer.from(text)]))
    }
    const shown = work.isTerminal ? (text: string) => text.replace(/\r?\n/g, '\r\n') : String
    const streams: Streams = {
      out: text => send(channels.output, shown(text)),
      err: text => send(work.isTerminal ? channels.output : channels.error, shown(text)),
      input,
      isTerminal: work.isTerminal,
      now: () => new Date(clock.wallMs()),
      sleep: ms => sleep(clock, ms, abort.signal),
    }
    void statusOf(work, streams).then(status => {
      send(channels.status, JSON.stringify(status))
      connection.close()
      cancelIdle()
      cancelIdle = clock.setTimer(closeMaxMs, () => socket.destroy())
    })
  })
}

async function statusOf(work: Work, streams: Streams): Promise<object> {
  if (work.type === 'attach') {
    streams.out(work.log)
    return success
  }
  try {
    const code = await runCommand(work.argv, streams, work.container)
    return code === 0 ? success : failed(code)
  } catch (error) {
    const what = error instanceof NoSuchCommand ? notFound(error.message) : String(error)
    return { ...base, status: 'Failure', reason: 'InternalError', message: what, code: 500 }
  }
}

const base = { kind: 'Status', apiVersion: 'v1', metadata: {} }
const success = { ...base, status: 'Success' }

function failed(code: number): object {
  return {
    ...base,
    status: 'Failure',
    message: `command terminated with exit code ${String(code)}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  }
}

function notFound(command: string): string {
  const what = `exec: ${JSON.stringify(command)}: executable file not found in $PATH`
  return `${what}: no program runs in a made-up pod, which knows ${knownCommands}, and the answers of the annotation ${execAnnotation}`
}

/** The standard input. */
class Input implements AsyncIterable<string> {
  readonly #pieces: string[] = []
  readonly #decoder = new TextDecoder()
  #bytes = 0
  #isEnded = false
  #wake: () => void = () => {}

  /** A message of the client; false if more waits than may. */
  take(message: Buffer): boolean {
    const [channel] = message
    if (channel === channels.close && message[1] === channels.input) this.end()
    if (channel !== channels.input || this.#isEnded) return true
    const bytes = message.subarray(1)
    this.#bytes += bytes.length
    this.#pieces.push(this.#decoder.decode(bytes, { stream: true }))
    this.#wake()
    return this.#bytes <= inputMaxBytes
  }

  end(): void {
    this.#isEnded = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<string> {
    for (;;) {
      const piece = this.#pieces.shift()
      if (piece !== undefined) {
        this.#bytes -= Buffer.byteLength(piece)
        yield piece
      } else if (this.#isEnded) return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }
}
