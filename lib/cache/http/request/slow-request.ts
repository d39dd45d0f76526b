/** A request that took long, and where its time went. Nothing in it is text that a client sent. */
export interface SlowRequest {
  readonly endedAtMs: number
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly code: number
  readonly tookMs: number
  /** Asking about its caller. */
  readonly reviewMs: number
  /** Until the mirror was fresh enough. */
  readonly etcdMs: number
  /** Behind other long lists. */
  readonly turnMs: number
  readonly encodeMs: number
  /** For its client to read. */
  readonly socketMs: number
}
