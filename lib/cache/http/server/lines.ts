/** A line of tasks for each key. The lines take turns, so that a thousand tasks of one delay
 *  another's by one turn. New lines go first: whoever has had nothing yet is before whoever waits
 *  for more. */

export type Task = () => void

interface Line {
  readonly key: unknown
  readonly tasks: Task[]
}

/** New lines that go before one that has had a turn: whoever comes with ever more keys must not
 *  hold up the others for good. */
const newInRow = 8

export class Lines {
  readonly #lines = new Map<unknown, Line>()
  /** Lines with tasks, in the order of their turns: of whoever has had nothing yet, and the
   *  others. */
  readonly #new: Line[] = []
  readonly #turns: Line[] = []
  #newTaken = 0
  #size = 0

  /** Number of those that wait. */
  get size(): number {
    return this.#size
  }

  /** Somebody waits who has had nothing yet. */
  get hasNew(): boolean {
    return this.#new.length > 0
  }

  /** `hasHad`: the key has had a turn already, so a line that begins with the task is not new. */
  add(key: unknown, task: Task, hasHad = false): void {
    this.#size++
    const known = this.#lines.get(key)
    if (known !== undefined) {
      known.tasks.push(task)
      return
    }
    const line = { key, tasks: [task] }
    this.#lines.set(key, line)
    ;(hasHad ? this.#turns : this.#new).push(line)
  }

  has(key: unknown): boolean {
    return this.#lines.has(key)
  }

  /** Removes and returns the next task. */
  take(): Task | undefined {
    const line = this.#nextLine()
    if (line === undefined) return undefined
    const task = line.tasks.shift()
    if (line.tasks.length > 0) this.#turns.push(line)
    else this.#lines.delete(line.key)
    this.#size--
    return task
  }

  #nextLine(): Line | undefined {
    const isNewNext = this.#turns.length === 0 || this.#newTaken < newInRow
    if (isNewNext && this.#new.length > 0) {
      this.#newTaken++
      return this.#new.shift()
    }
    this.#newTaken = 0
    return this.#turns.shift()
  }
}
