/** The command that `run` runs: its input and output are ours, and so are the signals. */

import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'

/** As shells have them. */
const notFound = 127
const notExecutable = 126
const bySignal = 128

export interface ChildEnd {
  readonly code: number
  /** Why it could not begin; undefined if it did. */
  readonly problem?: string
}

/** The exit code by which shells tell of a signal. */
export function codeOfSignal(name: NodeJS.Signals): number {
  return bySignal + constants.signals[name]
}

export class Child {
  readonly #process: ChildProcess
  readonly ended: Promise<ChildEnd>

  constructor([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv) {
    this.#process = spawn(command, args, { stdio: 'inherit', env })
    this.ended = new Promise(resolve => {
      this.#process.on('error', (error: NodeJS.ErrnoException) =>
        resolve(problemOf(command, error)),
      )
      this.#process.on('exit', (code, signal) => {
        resolve({ code: signal === null ? (code ?? 1) : codeOfSignal(signal) })
      })
    })
  }

  /** A terminal has sent an interruption to the command already, and a second one would be taken
   *  for impatience. */
  pass(signal: NodeJS.Signals): void {
    if (signal === 'SIGINT' && process.stdin.isTTY) return
    this.#process.kill(signal)
  }
}

function problemOf(command: string, { code, message }: NodeJS.ErrnoException): ChildEnd {
  if (code === 'ENOENT') {
    return { code: notFound, problem: `the command "${command}" is not found` }
  }
  if (code === 'EACCES') {
    return { code: notExecutable, problem: `"${command}" may not be executed` }
  }
  return { code: notExecutable, problem: `"${command}" does not start: ${message}` }
}
