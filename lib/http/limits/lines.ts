/** A line of tasks for each key. The lines take turns, so that a thousand tasks of one delay another's by one turn. */

export type Task = () => void

export class Lines<Key> {
  readonly #lines = new Map<Key, Task[]>()
  #size = 0

  /** How many wait. */
  get size(): number {
    return this.#size
  }

  add(key: Key, task: Task): void {
    this.#size++
    const line = this.#lines.get(key)
    if (line === undefined) this.#lines.set(key, [task])
    else line.push(task)
  }

  has(key: Key): boolean {
    return this.#lines.has(key)
  }

  /** Removes and returns the next task. */
  take(): Task | undefined {
    const [next] = this.#lines
    if (next === undefined) return undefined
    const [key, line] = next
    const task = line.shift()
    this.#lines.delete(key)
    if (line.length > 0) this.#lines.set(key, line)
    this.#size--
    return task
  }
}
