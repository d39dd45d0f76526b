/** The API server that is asked who may do what, as far as this folder needs one. */

import type { PassedHeaders } from './caller.ts'

/** As whom it is asked: see lib/http/upstream.ts. */
export type PassedAs = 'caller' | 'ourselves' | 'front-proxy'

export interface ReviewCall {
  readonly method: string
  readonly path: string
  readonly headers: PassedHeaders
  readonly body?: Uint8Array | undefined
  readonly signal: AbortSignal
}

export interface ReviewCallAnswer {
  readonly code: number
  readonly body: Uint8Array
}

export interface ReviewServer {
  call(request: ReviewCall, as: PassedAs): Promise<ReviewCallAnswer>
}
