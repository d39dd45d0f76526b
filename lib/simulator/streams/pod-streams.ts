/** The work of a stream to a simulated pod: `kubectl exec` and `attach`. */

import { type Clock, sleep } from '@watchglass/base'
import type { HttpRequest } from '@watchglass/cache'
import {
  type ShellContainer,
  execAnnotation,
  knownCommands,
  NoSuchCommand,
  runCommand,
  type Streams,
} from './shell.ts'
import {
  type AskedChannels,
  type ChannelProtocol,
  openChannels,
  type OutputChannel,
} from './channels.ts'
import type { HeldStreamBytes } from './held-bytes.ts'
import { Unread } from './unread.ts'

/** A stream that nobody uses is ended after this. */
const idleMaxMs = 4 * 3_600_000
const sleepMaxMs = 3_600_000
/** A client that does not close its side is left after this. */
const closeMaxMs = 5_000
/** Bytes of input that nobody has read; then the client is cut off. */
const inputMaxBytes = 4 * 1024 * 1024

/** A command, or a look at what one has written. */
export type Work =
  | { readonly type: 'exec'; readonly argv: readonly string[]; readonly container: ShellContainer }
  /** Shows the log, after which nothing comes. */
  | { readonly type: 'attach'; readonly log: string }

export type StreamWork = Work & {
  readonly protocol: ChannelProtocol
  readonly isTerminal: boolean
  /** The channels that the client asks for: `stdin`, `stdout` and so on. */
  readonly asked: AskedChannels
  readonly held: HeldStreamBytes
}

/** Agrees to the upgrade, does the work, and resolves when the connection is over. */
export function runStream(
  request: HttpRequest,
  { protocol, isTerminal, asked, held, ...work }: StreamWork,
  clock: Clock,
): Promise<void> {
  return new Promise(resolve => {
    const abort = new AbortController()
    const input = new Input(held)
    if (!asked.has('stdin')) input.end()
    let cancelIdle = (): void => {}
    const touched = (): void => {
      cancelIdle()
      cancelIdle = clock.setTimer(idleMaxMs, () => channels.destroy())
    }
    const channels = openChannels(
      request,
      { protocol, asked, clock, held },
      {
        touched,
        ready: () => void run(),
        input: bytes => {
          if (!input.take(bytes)) channels.destroy()
        },
        inputEnd: () => input.end(),
        over: () => {
          cancelIdle()
          abort.abort()
          input.end()
          resolve()
        },
      },
    )
    touched()
    const send = (channel: OutputChannel, text: string): void => {
      if (text !== '') channels.send(channel, Buffer.from(text))
    }
    const shown = isTerminal ? (text: string) => text.replace(/\r?\n/g, '\r\n') : String
    const streams: Streams = {
      out: text => send('stdout', shown(text)),
      err: text => send(isTerminal ? 'stdout' : 'stderr', shown(text)),
      input,
      isTerminal,
      now: () => new Date(clock.wallMs()),
      sleep: ms => sleep(clock, Math.min(ms, sleepMaxMs), abort.signal),
    }
    const run = async (): Promise<void> => {
      const status = await statusOf(work, streams)
      send('error', JSON.stringify(status))
      channels.close()
      cancelIdle()
      if (!abort.signal.aborted) {
        cancelIdle = clock.setTimer(closeMaxMs, () => channels.destroy())
      }
    }
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
  return `${what}: no program runs in a simulated pod, which knows ${knownCommands}, and the answers of the annotation ${execAnnotation}`
}

/** The standard input. */
class Input implements AsyncIterable<string> {
  readonly #unread: Unread
  readonly #decoder = new TextDecoder()
  #isEnded = false
  #wake: () => void = () => {}

  constructor(held: HeldStreamBytes) {
    this.#unread = new Unread(held)
  }

  /** Bytes of the client; false if more wait than may. */
  take(bytes: Buffer): boolean {
    if (this.#isEnded) return true
    const mayTake = this.#unread.size + bytes.length <= inputMaxBytes && this.#unread.add(bytes)
    this.#wake()
    return mayTake
  }

  end(): void {
    this.#isEnded = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<string> {
    for (;;) {
      const { size } = this.#unread
      if (size > 0) yield this.#decoder.decode(this.#unread.take(size), { stream: true })
      else if (this.#isEnded) return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }
}
