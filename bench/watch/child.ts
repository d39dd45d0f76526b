/** A process beside a bench that follows its orders, so that its work does not hold up what is
 *  measured. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The bench's end. */
export class Child {
  readonly #child: ChildProcess

  constructor(child: ChildProcess) {
    this.#child = child
  }

  /** A process that runs a module of the bench. */
  static start(module: string): Child {
    return new Child(fork(fileURLToPath(module), { stdio: 'inherit' }))
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Gives an order; the answer. One order at a time. */
  async ask<T>(order: unknown): Promise<T> {
    this.#child.send(order as object)
    return (await this.message()) as T
  }

  /** The next thing that it says. It must not end before. */
  async message(): Promise<unknown> {
    const ended = new AbortController()
    const { signal } = ended
    try {
      const exit = once(this.#child, 'exit', { signal }).then(() => {
        throw new Error(`a process of the bench has ended: ${this.#child.spawnargs.join(' ')}`)
      })
      const said = once(this.#child, 'message', { signal })
      const [message] = (await Promise.race([said, exit])) as [unknown]
      return message
    } finally {
      ended.abort()
    }
  }

  async stop(): Promise<void> {
    if (!this.#child.connected) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}

/** The process's end: answers every order with what `run` makes of it. Ends with the bench. */
export function answerOrders<T>(run: (order: T) => unknown): void {
  process.on('message', (order: T) => {
    void Promise.resolve(run(order)).then(report => process.send?.(report ?? {}))
  })
  process.on('disconnect', () => process.exit(0))
}
