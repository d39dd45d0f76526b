/** The durations of what goes on with a simulated pod, at least and at most. */

export type PodStage =
  | 'schedule'
  | 'start'
  /** A scripted pod is looked at again (`nodes/pod-sync.ts`). */
  | 'sync'
  | 'attach'
  /** Its containers are given other resources. */
  | 'resize'
  | 'recover'
  | 'disturb'
  | 'crash'
  | 'restart'
  | 'finish'
  | 'end'

export const podDurationsMs: Readonly<Record<PodStage, readonly [number, number]>> = {
  schedule: [20, 200],
  start: [500, 2_500],
  sync: [0, 0],
  attach: [100, 500],
  resize: [500, 1_500],
  recover: [500, 2_500],
  disturb: [600_000, 3_600_000],
  // As long as the fault says.
  crash: [0, 0],
  restart: [0, 0],
  finish: [2_000, 8_000],
  end: [500, 2_000],
}

/** The share of disturbed pods that are evicted; a container of the others is restarted. */
export const evictedShare = 0.2
