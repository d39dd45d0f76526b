/** A scheduler for work that may take milliseconds: whatever else there is to do gets its turn
 *  in between. */

import { type Clock, Slice } from '@watchglass/base'
import type { Lane, Scheduler } from '../engine/scheduler.ts'

interface Task {
  readonly lane: { isClosed: boolean }
  readonly run: () => void
}

/** Runs tasks in the order in which they were posted. */
export function createTurns(clock: Clock): Scheduler {
  const tasks: Task[] = []
  let isRunning = false
  const run = async (): Promise<void> => {
    isRunning = true
    const slice = new Slice(clock)
    await slice.next()
    for (let at = 0; at < tasks.length; at++) {
      const { lane, run: task } = tasks[at]!
      if (!lane.isClosed) task()
      if (!slice.isOver) continue
      tasks.splice(0, at + 1)
      at = -1
      await slice.next()
    }
    tasks.length = 0
    isRunning = false
  }
  return {
    createLane(): Lane {
      const lane = { isClosed: false }
      const post = (task: () => void): void => {
        tasks.push({ lane, run: task })
        if (!isRunning) void run()
      }
      return {
        post,
        postFirst: post,
        close() {
          lane.isClosed = true
        },
      }
    },
  }
}
