/** A program that the recorder starts: refused with a reason when it cannot run, watched until it
 *  is ready, stopped at the end. What it prints goes into a file, whose tail is shown when it
 *  fails. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, closeSync, constants, openSync, readFileSync, statSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The time for a program to end by itself before it is killed. */
const stopMaxMs = 10_000
const lookEveryMs = 100
const tailBytes = 3000

/** A failure that says all that its reader needs: shown without a stack. */
export class RecordFailure extends Error {}

/** Throws where `file`, given with `option`, is no program. */
export function checkExecutable(option: string, file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) throw new RecordFailure(`--${option} ${file}: there is no such file`)
  if (!stats.isFile()) throw new RecordFailure(`--${option} ${file}: it is not a file`)
  try {
    accessSync(file, constants.X_OK)
  } catch {
    throw new RecordFailure(`--${option} ${file}: it is not executable (chmod +x)`)
  }
}

/** The version that a program prints, such as 3.5.16. */
export async function versionOf(option: string, file: string): Promise<string> {
  const { stdout } = await run(file, ['--version'], { timeout: 60_000 }).catch((error: Error) => {
    throw new RecordFailure(`--${option} ${file}: --version failed: ${error.message}`)
  })
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0]
  if (version !== undefined) return version
  throw new RecordFailure(`--${option} ${file}: --version printed no version: ${stdout.trim()}`)
}

export interface ProgramSettings {
  readonly name: string
  readonly binary: string
  readonly args: readonly string[]
  /** The file that its output goes to. */
  readonly log: string
  readonly environment?: Readonly<Record<string, string>>
}

export class RunningProgram {
  readonly #settings: ProgramSettings
  readonly #child: ChildProcess
  #failure: string | undefined

  constructor(settings: ProgramSettings) {
    this.#settings = settings
    const { binary, args, log, environment } = settings
    const output = openSync(log, 'a')
    this.#child = spawn(binary, args, {
      stdio: ['ignore', output, output],
      env: { ...process.env, ...environment },
    })
    closeSync(output)
    this.#child.on('error', error => (this.#failure = `could not be started: ${error.message}`))
    this.#child.on('exit', (code, signal) => {
      this.#failure ??= `ended with ${code ?? signal ?? 'no code'}`
    })
  }

  /** Resolves once `isReady` says so; throws when the program has ended, or takes too long. */
  async waitUntil(what: string, maxMs: number, isReady: () => Promise<boolean>): Promise<void> {
    const { name } = this.#settings
    for (const deadline = Date.now() + maxMs; ;) {
      if (this.#failure !== undefined) throw this.#failed(`${name} ${this.#failure}`)
      if (await isReady().catch(() => false)) return
      if (Date.now() > deadline) {
        throw this.#failed(`${name} was not ${what} after ${Math.round(maxMs / 1000)} s`)
      }
      await new Promise(resolve => setTimeout(resolve, lookEveryMs))
    }
  }

  async stop(): Promise<void> {
    if (this.#failure !== undefined) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const killing = setTimeout(() => this.#child.kill('SIGKILL'), stopMaxMs)
    await ended
    clearTimeout(killing)
  }

  #failed(message: string): RecordFailure {
    const text = readFileSync(this.#settings.log, 'utf8')
    const tail = text.length > tailBytes ? `...${text.slice(-tailBytes)}` : text
    return new RecordFailure(`${message}; the end of its log:\n${tail.trimEnd() || '(empty)'}`)
  }
}
