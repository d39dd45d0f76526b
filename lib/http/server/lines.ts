/** A line of tasks for each key. The lines take turns, so that a thousand tasks of one delay
 *  another's by one turn. */

export type Task = () => void

interface Line {
  readonly key: unknown
  readonly tasks: Task[]
}

export class Lines {
  readonly #lines = new Map<unknown, Line>()
  /** Those with tasks, in the order of their turns. */
  readonly #turns: Line[] = []
  #size = 0

  /** Number of those that wait. */
  get size(): number {
    return this.#size
  }

  add(key: unknown, task: Task): void {
    this.#size++
    const known = this.#lines.get(key)
    if (known !== undefined) {
      known.tasks.push(task)
      return
    }
    const line = { key, tasks: [task] }
    this.#lines.set(key, line)
    this.#turns.push(line)
  }

  has(key: unknown): boolean {
    return this.#lines.has(key)
  }

  /** Removes and returns the next task. */
  take(): Task | undefined {
    const line = this.#turns.shift()
    if (line === undefined) return undefined
    const task = line.tasks.shift()
    if (line.tasks.length > 0) this.#turns.push(line)
    else this.#lines.delete(line.key)
    this.#size--
    return task
  }
}
