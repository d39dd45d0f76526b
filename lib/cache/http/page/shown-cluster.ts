/** One of the clusters that a process serves, as an operator sees it. */

export interface ShownCluster {
  readonly name: string
  readonly state: string
  /** Everything is mirrored. */
  readonly isReady: boolean
  readonly objects: number
  readonly memoryBytes: number
  readonly requestsInFlight: number
  readonly requests: number
  readonly starts: number
  readonly failedStarts: number
  /** Gets, lists and watches since the process started, and those of them that were answered from
   *  memory. */
  readonly reads: number
  readonly readsFromMemory: number
  /** Why it cannot be served, or is not ready; undefined if nothing is wrong. */
  readonly problem: string | undefined
  /** Since when that is known, on the wall clock. */
  readonly problemSinceMs: number | undefined
}
