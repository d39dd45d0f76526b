/** The processes of this bench: the program as users start it, the ceiling, and the clients. */

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { programFlags } from '../../test/support/program/program-flags.ts'
import type { RepeatOrder } from './ceiling.ts'
import { certificate } from './certificate.ts'
import type { CopyOrder, CopyReport } from './copied-bodies.ts'
import { Http1Client, type RequestHeaders } from './http1-client.ts'
import type { LoadOrder, LoadReport } from './load.ts'
import { nodeForThreads } from '../../test/support/runner/other-node.ts'

/** Who answers. */
export interface Subject {
  readonly port: number
  /** Time of the processor since it started. */
  cpuSeconds(): Promise<number>
}

/** A program at rest takes a tenth of a processor at most, of which most is to say so. */
const restMs = 300
const restCpuSeconds = 0.03
const restRoundsMax = 200

export class Program implements Subject {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  /** `watchglass serve`, with TLS if `scheme` does not say otherwise, with a module imported that
   *  ends it with its parent; resolves once everything is mirrored. */
  static async start(
    args: readonly string[],
    imported: URL = new URL('with-parent.js', import.meta.url),
    scheme: 'http' | 'https' = 'https',
  ): Promise<Program> {
    const file = fileURLToPath(new URL('../../program/cli.js', import.meta.url))
    const withParent = `--import=${imported.href}`
    const { cert, key } = certificate
    const tls = scheme === 'http' ? [] : [`--tls-cert=${cert}`, `--tls-key=${key}`]
    const listen = [`--listen=${scheme}://127.0.0.1:0`, ...tls]
    // Ratios of one thread and several compare the same Node.
    const hasThreads = args.some(arg => arg.startsWith('--threads'))
    const node = hasThreads ? nodeForThreads() : process.execPath
    const child = spawn(
      node,
      [...programFlags(node), withParent, file, 'serve', ...listen, '--log-level=error', ...args],
      { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
    )
    let said = ''
    for await (const chunk of child.stdout as unknown as AsyncIterable<Buffer>) {
      said += chunk.toString()
      const port = /https?:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
      if (port === undefined) continue
      return new Program(child, Number(port))
    }
    throw new Error('the program has ended without a word')
  }

  get process(): ChildProcess {
    return this.#child
  }

  async cpuSeconds(): Promise<number> {
    const text = (await this.get('/metrics', {})).toString()
    return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1])
  }

  /** Resolves when the work that goes on behind a start, such as compiling what shows objects, is
   *  done: it takes longer than a first list. */
  async atRest(): Promise<void> {
    for (let i = 0; i < restRoundsMax; i++) {
      const before = await this.cpuSeconds()
      await sleep(restMs)
      if ((await this.cpuSeconds()) - before < restCpuSeconds) return
    }
    throw new Error('the program does not come to rest')
  }

  async get(path: string, headers: RequestHeaders): Promise<Buffer> {
    const client = await Http1Client.connect(this.port)
    const { status, pieces } = await client.get(path, headers, true)
    client.close()
    if (status !== 200) throw new Error(`${path} is answered with ${status}`)
    return Buffer.concat(pieces)
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill()
    await exited
  }
}

export class Ceiling implements Subject {
  readonly port: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  /** Starts that of lists, or another module that answers with copied bodies. */
  static async start(
    file: URL = new URL('ceiling.js', import.meta.url),
    args: readonly string[] = [],
  ): Promise<Ceiling> {
    const child = fork(fileURLToPath(file), args)
    const [port] = (await once(child, 'message')) as [number]
    return new Ceiling(child, port)
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** From now on, that path is answered with so many bytes. */
  async repeat(order: RepeatOrder): Promise<void> {
    await ask(this.#child, order)
  }

  copy(order: CopyOrder): Promise<CopyReport> {
    return ask<CopyReport>(this.#child, order)
  }

  cpuSeconds(): Promise<number> {
    return ask<number>(this.#child, 'cpu')
  }

  stop(): Promise<void> {
    return stopChild(this.#child)
  }
}

export class Load {
  readonly #child = fork(fileURLToPath(new URL('load.js', import.meta.url)))

  get pid(): number {
    return this.#child.pid ?? 0
  }

  run(order: LoadOrder): Promise<LoadReport> {
    return ask<LoadReport>(this.#child, order)
  }

  stop(): Promise<void> {
    return stopChild(this.#child)
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (!child.connected) return
  const exited = once(child, 'exit')
  child.disconnect()
  await exited
}

/** The answer of a child. One that ends instead has said why on standard error. */
async function ask<T>(child: ChildProcess, message: object | string): Promise<T> {
  const ended = new AbortController()
  const { signal } = ended
  try {
    child.send(message)
    const exit = once(child, 'exit', { signal }).then(() => {
      throw new Error('a process of the bench has ended')
    })
    const [answer] = (await Promise.race([once(child, 'message', { signal }), exit])) as [T]
    return answer
  } finally {
    ended.abort()
  }
}
