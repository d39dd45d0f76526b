/** The messages between the processes of this bench. */

/** To the process that has the etcd: make changes at a rate. */
export interface PodChangeOrder {
  readonly perSecond: number
  readonly ms: number
}

/** To the process with the clients: open a stream of each path, or close all. */
export type ViewersOrder =
  | { readonly type: 'open'; readonly port: number; readonly paths: readonly string[] }
  | { readonly type: 'read' }
  | { readonly type: 'close' }

export interface ViewersReport {
  /** The bytes that have come since the last report. */
  readonly bytes: number
  /** The streams that have ended, which none should. */
  readonly ended: number
}
