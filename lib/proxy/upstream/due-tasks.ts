/** Questions to the upstream that are asked again and again: each when it is due, and a few at a
 *  time. */

import { Alarm, type Clock, type Random } from '@watchglass/base'

export interface DueTask {
  /** On the monotonic clock. */
  dueMs: number
  isUnderWay: boolean
}

export interface DueTasksOptions<Task extends DueTask> {
  readonly clock: Clock
  readonly random: Random
  /** The most tasks that are under way at the same time. */
  readonly underWayMax: number
  /** All present tasks. */
  readonly tasks: () => Iterable<Task>
  /** Does a task, and must not fail. The answer is the pause until the next time, of which a random
   *  half is taken off. */
  readonly work: (task: Task, signal: AbortSignal) => Promise<number>
  /** Called when it is known when the task is due next, which may be changed. */
  readonly onDone?: (task: Task) => void
}

export class DueTasks<Task extends DueTask> {
  readonly #options: DueTasksOptions<Task>
  readonly #alarm: Alarm
  readonly #stopped = new AbortController()
  #underWay = 0

  constructor(options: DueTasksOptions<Task>) {
    this.#options = options
    this.#alarm = new Alarm(options.clock, () => this.#run())
  }

  /** There may be a task that is due. It is begun a moment later. */
  look(): void {
    if (!this.#stopped.signal.aborted) this.#alarm.set(0)
  }

  stop(): void {
    this.#stopped.abort()
    this.#alarm.clear()
  }

  #run(): void {
    const { clock, tasks, underWayMax } = this.#options
    const nowMs = clock.monotonicMs()
    for (const task of tasks()) {
      if (task.isUnderWay) continue
      if (task.dueMs > nowMs) this.#alarm.set(task.dueMs)
      else if (this.#underWay < underWayMax) void this.#do(task)
    }
    if (this.#stopped.signal.aborted) this.#alarm.clear()
  }

  async #do(task: Task): Promise<void> {
    const { clock, random, work, onDone } = this.#options
    task.isUnderWay = true
    this.#underWay++
    const pauseMs = await work(task, this.#stopped.signal)
    this.#underWay--
    task.isUnderWay = false
    task.dueMs = clock.monotonicMs() + pauseMs * (0.5 + random.next() / 2)
    onDone?.(task)
    this.look()
  }
}
