/** The faults that requests to a cluster meet on purpose, switched while it runs. A rule is what
 *  `--fault` takes: `error,code=429,verb=list`; docs/LOADTEST.md of the program has all. */

/** A rule that is active, and how often a request has met it. */
export interface MetFault {
  readonly rule: string
  readonly met: number
}

/** Some rules that came together, and go together. */
interface RuleSet {
  readonly rules: readonly string[]
}

export class ClusterFaults {
  readonly #address: string
  /** The sets that are active, in the order in which they came: the server knows the whole list
   *  only. */
  readonly #sets: Set<RuleSet>
  /** The last change: the next one waits for it, so that the server ends with the newest list. */
  #changed: Promise<void> = Promise.resolve()

  /** @param rules active already */
  constructor(adminAddress: string, rules: readonly string[]) {
    this.#address = `${adminAddress}/faults`
    this.#sets = new Set([{ rules }])
  }

  /** Replaces all rules by these. Resolves when every later request meets them. Where one is
   *  refused, the former rules stay. */
  async set(rules: string | readonly string[]): Promise<void> {
    const former = [...this.#sets]
    const added = ruleSetOf(rules)
    try {
      await this.#change(() => {
        this.#sets.clear()
        this.#sets.add(added)
      })
    } catch (error) {
      if (this.#sets.delete(added)) for (const one of former) this.#sets.add(one)
      throw error
    }
  }

  /** Switches all faults off. */
  clear(): Promise<void> {
    return this.set([])
  }

  /** Runs a task while a rule, or several, are active beside those that are already. They end with
   *  the task, however it ends. */
  async withFault<Result>(
    rules: string | readonly string[],
    task: () => Result | Promise<Result>,
  ): Promise<Result> {
    const added = ruleSetOf(rules)
    try {
      await this.#change(() => this.#sets.add(added))
      return await task()
    } finally {
      await this.#change(() => this.#sets.delete(added))
    }
  }

  /** The rules that are active. A change of any counts all from zero again. */
  async met(): Promise<readonly MetFault[]> {
    const { faults } = (await (await fetch(this.#address)).json()) as { faults: MetFault[] }
    return faults
  }

  #change(change: () => void): Promise<void> {
    change()
    const sent = this.#changed.then(() => this.#send())
    // A list that was refused is the caller's to hear of; the next one is tried all the same.
    this.#changed = sent.catch(() => undefined)
    return sent
  }

  async #send(): Promise<void> {
    const body = [...this.#sets].flatMap(({ rules }) => rules).join('\n')
    const answer = await fetch(this.#address, { method: 'PUT', body })
    const text = await answer.text()
    if (!answer.ok) throw new Error(text.trim())
  }
}

/** An object of its own each time: the same rules may be active twice. */
function ruleSetOf(rules: string | readonly string[]): RuleSet {
  return { rules: typeof rules === 'string' ? [rules] : [...rules] }
}
