/** The program itself, as a user starts it. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Teardown } from '../etcd/etcd-cluster.ts'
import { nodeFor } from '../runner/other-node.ts'
import { programFlags } from './program-flags.ts'

export interface Program {
  readonly address: string
  readonly port: number
  /** Standard output once everything is mirrored. */
  readonly introduction: string
  /** Sends it a signal. */
  readonly signal: (name: NodeJS.Signals) => void
  /** Asks it to stop; its exit code. */
  stop(): Promise<number>
  /** Sends a message to the module that was imported. */
  readonly send: (message: object) => void
}

/** A module that runs in the program, first of all and in each of its threads. */
export interface Imported {
  readonly module: URL
  /** Gets what the module sends. */
  readonly onMessage: (message: unknown) => void
  /** Gets what the program logs. */
  readonly onLog: (text: string) => void
}

/** Starts `watchglass serve` on a free port. */
export async function startProgram(
  scope: Teardown,
  args: readonly string[],
  imported?: Imported,
): Promise<Program> {
  const flags = imported === undefined ? [] : [`--import=${imported.module.href}`]
  const node = nodeFor(args)
  const child = spawn(
    node,
    [
      ...programFlags(node),
      ...flags,
      '.',
      'serve',
      '--listen',
      'http://127.0.0.1:0',
      '--log-level',
      'warn',
      ...args,
    ],
    {
      stdio:
        imported === undefined ? ['ignore', 'pipe', 'inherit'] : ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  )
  child.stderr?.on('data', (text: Buffer) => imported?.onLog(text.toString()))
  if (imported !== undefined) child.on('message', imported.onMessage)
  const send = (message: object): void => void child.send(message)
  const exited = once(child, 'exit') as Exited
  const stop = async (): Promise<number> => {
    child.kill()
    const [code] = await exited
    return code ?? -1
  }
  const signal = (name: NodeJS.Signals): void => void child.kill(name)
  scope.teardown(async () => void (await stop()))
  const introduction = await introductionOf(child, exited)
  const address = /http:\/\/127\.0\.0\.1:\d+/.exec(introduction)?.[0] ?? ''
  return { address, port: Number(address.split(':')[2]), introduction, stop, signal, send }
}

type Exited = Promise<[number | null, NodeJS.Signals | null]>

/** All that it says until it is ready: its last line then begins with `first`. */
async function introductionOf({ stdout }: ChildProcess, exited: Exited): Promise<string> {
  let text = ''
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    text += chunk.toString()
    if (text.includes('\n  first  ')) return text
  }
  const [code, signal] = await exited
  throw new Error(`the program has ended with ${code ?? signal}, and said: ${text}`)
}
