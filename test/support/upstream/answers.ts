/** The types of a request and its answer that the parts of the test upstream share. */

import type * as http from 'node:http'

/** An answer that is at hand. */
export interface DirectAnswer {
  readonly code: number
  readonly headers?: http.OutgoingHttpHeaders
  readonly body: string | Uint8Array
}

/** A request as the upstream got it. */
export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  /** The other end's port: the same for all requests of one connection. */
  readonly connection: number
  /** CN of the client certificate that was shown, if any. */
  readonly certificate: string
}

/** The answer to a request that is not for the API: 401, 403, or that of a review. Undefined lets
 *  it through. `body` reads the request's body, for requests that are answered here only. */
export type Before = (
  request: SeenRequest,
  body: () => Promise<Buffer>,
) => DirectAnswer | undefined | Promise<DirectAnswer | undefined>

/** A JSON answer. */
export function json(value: unknown, code = 200): DirectAnswer {
  return {
    code,
    headers: { 'content-type': 'application/json' },
    body: `${JSON.stringify(value)}\n`,
  }
}
