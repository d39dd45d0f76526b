/** The order in which the engine's messages travel in process: requests, answers, watch responses,
 *  and what members tell each other. Messages of one lane arrive in order; lanes know nothing of
 *  each other. Whoever makes the scheduler decides what arrives next, so that a simulation can
 *  deliver in any order, hold lanes back and lose what is in them. */

import type { Clock } from '@watchglass/base'

export interface Scheduler {
  createLane(): Lane
}

/** An ordered way for messages. */
export interface Lane {
  /** Delivers `task` some time later, after everything that was posted before. Lost once the lane
   *  is closed. */
  post(task: () => void): void
  /** Delivers `task` before everything that still waits: what etcd before 3.4.25 and 3.5.8 did with
   *  progress. */
  postFirst(task: () => void): void
  /** Loses what waits, and all that is posted from now on. */
  close(): void
}

/** Delivers in the order of posting, a little later, and gives way to input and output between
 *  slices: after so many messages, and with a clock also once some have taken long. */
export function createDirectScheduler(clock?: Pick<Clock, 'monotonicMs'>): Scheduler {
  const queue: DirectMessage[] = []
  /** Place of the next message in the queue, while a slice is delivered. */
  let at = 0
  let isScheduled = false
  const nowMs = (): number => clock?.monotonicMs() ?? 0
  const drain = (): void => {
    const endMs = nowMs() + sliceMs
    for (let next = queue[at]; next !== undefined && at < sliceMessages; next = queue[at]) {
      at++
      if (!next.lane.isClosed) next.task()
      if (nowMs() > endMs) break
    }
    queue.splice(0, at)
    at = 0
    isScheduled = queue.length > 0
    if (isScheduled) setImmediate(drain)
  }
  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(drain)
  }
  return {
    createLane() {
      const lane = { isClosed: false }
      return {
        post(task) {
          queue.push({ lane, task })
          schedule()
        },
        postFirst(task) {
          queue.splice(at, 0, { lane, task })
          schedule()
        },
        close() {
          lane.isClosed = true
        },
      }
    },
  }
}

/** The number of messages that are delivered before input and output get their turn: about a
 *  millisecond of work. */
const sliceMessages = 256
const sliceMs = 2

interface DirectMessage {
  readonly lane: { isClosed: boolean }
  readonly task: () => void
}
