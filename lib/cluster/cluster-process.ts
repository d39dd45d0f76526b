/** The program `watchglass run --stdio` in a process of its own, and the lines that go to and fro.
 *  The pipe to its standard input is what keeps it: the system closes the pipe with our process,
 *  whatever ends that, and the program ends with its temporary files. */

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** The variables by which a command of `watchglass run` finds the cluster. */
export type ClusterVariables = Readonly<Record<string, string>>

type Child = ChildProcessByStdio<Writable, Readable, Readable>

interface Waiting {
  readonly resolve: (line: string) => void
  readonly reject: (error: Error) => void
}

/** The last words of a program that has ended are the reason. */
const lastWordsMax = 4096

/** The time limit of a stop: requests under way have ten seconds. */
const stopMaxMs = 15_000

export class ClusterProcess {
  readonly #child: Child
  readonly #ended: Promise<void>
  /** In the order of their requests, which is that of the answers. */
  readonly #waiting: Waiting[] = []
  #lastWords = ''
  #isServing = false
  #isStopping = false
  #end: Error | undefined

  private constructor(child: Child) {
    this.#child = child
    createInterface({ input: child.stdout }).on('line', line => {
      this.#waiting.shift()?.resolve(line)
      this.#keepAlive()
    })
    child.stderr.on('data', (piece: Buffer) => {
      this.#lastWords = `${this.#lastWords}${piece.toString()}`.slice(-lastWordsMax)
      // Before, they are the reason of a rejection.
      if (this.#isServing) process.stderr.write(piece)
    })
    // The pipe of a program that has ended: its exit says more.
    child.stdin.on('error', () => undefined)
    this.#ended = new Promise(resolve => {
      child.on('error', error => this.#fail(error, resolve))
      child.on('close', code => {
        const words = this.#lastWords.trim()
        this.#fail(new Error(words === '' ? `the cluster has ended with ${code}` : words), resolve)
      })
    })
  }

  /** Resolves when the cluster serves. */
  static async start(
    args: readonly string[],
    program: string | undefined,
  ): Promise<{ readonly process: ClusterProcess; readonly variables: ClusterVariables }> {
    const script = program ?? createRequire(import.meta.url).resolve('watchglass')
    // Loaders and flags of the test's own Node are not for the server.
    const { NODE_OPTIONS: _options, NODE_V8_COVERAGE: _coverage, ...env } = process.env
    const child = spawn(process.execPath, [script, 'run', '--stdio', ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env,
    })
    const started = new ClusterProcess(child)
    const first = await started.#nextLine()
    started.#isServing = true
    return { process: started, variables: JSON.parse(first) as ClusterVariables }
  }

  async apply(parts: readonly (string | object)[]): Promise<void> {
    const answer = this.#nextLine()
    this.#child.stdin.write(`${JSON.stringify({ apply: parts })}\n`)
    const { error } = JSON.parse(await answer) as { error?: string }
    if (error !== undefined) throw new Error(error)
  }

  /** Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#keepAlive()
    this.#child.stdin.end()
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), stopMaxMs)
    await this.#ended
    clearTimeout(kill)
  }

  #nextLine(): Promise<string> {
    if (this.#end !== undefined) return Promise.reject(this.#end)
    const line = new Promise<string>((resolve, reject) => this.#waiting.push({ resolve, reject }))
    this.#keepAlive()
    return line
  }

  #fail(error: Error, resolve: () => void): void {
    this.#end ??= error
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end)
    resolve()
  }

  /** A cluster that nobody has stopped keeps a test's process only while somebody waits for it. */
  #keepAlive(): void {
    const keeps = this.#isStopping || this.#waiting.length > 0
    const { stdin, stdout, stderr } = this.#child
    for (const one of [
      this.#child,
      ...[stdin, stdout, stderr].map(pipe => pipe as unknown as Socket),
    ]) {
      if (keeps) one.ref()
      else one.unref()
    }
  }
}
