/** The findings of a check, a line each. */

import { CacheError } from '@watchglass/base'

/** Something that works, with what there is to say about it; or works, but not as it should. */
export type Finding = string | { readonly warning: string }

export class CheckList {
  readonly #write: (line: string) => void
  #failures = 0
  #warnings = 0

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  get hasFailed(): boolean {
    return this.#failures > 0
  }

  /** Tries something, and says how it went. The answer is whether it works. */
  async try(what: string, task: () => Finding | Promise<Finding>): Promise<boolean> {
    try {
      const finding = await task()
      if (typeof finding === 'string') this.#say('ok', what, finding)
      else {
        this.#warnings++
        this.#say('warn', what, finding.warning)
      }
      return true
    } catch (error) {
      this.#failures++
      const { message } = CacheError.from(error, 'source_failed')
      // Failures of etcd begin with its address.
      this.#say(
        'FAIL',
        what,
        message.startsWith(`${what}: `) ? message.slice(what.length + 2) : message,
      )
      return false
    }
  }

  /** Tries what a store promises: where it does not keep the promise, something else follows. */
  async tryPromise(what: string, otherwise: string, task: () => Promise<string>): Promise<void> {
    await this.try(what, async () => {
      try {
        return await task()
      } catch (error) {
        const { message } = CacheError.from(error, 'source_failed')
        return { warning: `not kept (${message}): ${otherwise}` }
      }
    })
  }

  /** A line with the sum. */
  end(): void {
    const sum = `${this.#failures} failed, ${this.#warnings} warned`
    this.#write(this.hasFailed ? `${sum}: serve would not work` : sum)
  }

  #say(verdict: 'ok' | 'warn' | 'FAIL', what: string, finding: string): void {
    this.#write(`${verdict.padEnd(4)}  ${what}${finding === '' ? '' : `: ${finding}`}`)
  }
}
