/** The processes of this bench: an etcd, the measured server, the ceiling, and the clients. If the system allows it, the two servers have
 *  one core and the others the rest. */

import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { programFlags } from '../../test/support/program/program-flags.ts'

export class Child {
  readonly #child: ChildProcess
  /** What it said when it was ready. */
  readonly hello: unknown

  private constructor(child: ChildProcess, hello: unknown) {
    this.#child = child
    this.hello = hello
  }

  static async start(name: string, place: 'alone' | 'others', args: string[] = []): Promise<Child> {
    const file = fileURLToPath(new URL(`${name}.js`, import.meta.url))
    const flags = [
      ...(canPin ? flagsOfOneCore : []),
      ...(place === 'alone' ? ['--expose-gc', ...programFlags()] : []),
    ]
    const pinned = canPin ? ['-c', place === 'alone' ? '0' : `1-${cpus().length - 1}`] : undefined
    const child = fork(file, args, {
      ...(pinned === undefined
        ? { execArgv: flags }
        : { execPath: 'taskset', execArgv: [...pinned, process.execPath, ...flags] }),
      serialization: 'advanced',
    })
    return new Child(child, await messageOf(child))
  }

  /** Gives an order; the answer. One order at a time. */
  async ask<T>(order: object): Promise<T> {
    this.#child.send(order)
    return (await messageOf(this.#child)) as T
  }

  async stop(): Promise<void> {
    if (!this.#child.connected) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}

/** The next message of a process, which must not end before. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController()
  const { signal } = ended
  try {
    const exit = once(child, 'exit', { signal }).then(() => {
      throw new Error(`a process of the bench has ended: ${child.spawnargs.join(' ')}`)
    })
    const [message] = (await Promise.race([once(child, 'message', { signal }), exit])) as [unknown]
    return message
  } finally {
    ended.abort()
  }
}

/** A process that has one core is told so, as deploy/README.md advises. V8 starts four threads for its collector wherever it
 *  runs; on one core they take it from the thread that everybody waits for, and a full collection of a heap of 80 MB stopped that for
 *  200 ms. All processes have it here: the server that is measured, the ceiling, and those who watch. */
const flagsOfOneCore = ['--single-threaded-gc']

const canPin = cpus().length > 1 && spawnSync('taskset', ['-c', '1', 'true']).status === 0
