/** The outcomes of everything that clients did: how often what, and each read that was wrong. */

import { AssertionError } from 'node:assert/strict'

const wrongShown = 20

export class Outcomes {
  readonly #counts = new Map<string, number>()
  readonly wrong: string[] = []

  count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1)
  }

  /** Whatever ended a check: an assertion that failed is a wrong read, everything else is counted
   *  as a failure. */
  failed(what: string, error: unknown): void {
    if (error instanceof AssertionError) {
      this.count(`${what} wrong`)
      if (this.wrong.length < wrongShown) {
        this.wrong.push(`${new Date().toISOString()} ${what}: ${error.message}`)
      }
    } else {
      const { code, message } = error as NodeJS.ErrnoException
      this.count(`${what} cut (${code ?? message})`)
    }
  }

  get counts(): ReadonlyMap<string, number> {
    return new Map([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}
