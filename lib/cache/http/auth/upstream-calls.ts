/** Small requests of our own to an API server, such as reviews of access: what is sent, with whose
 *  credentials, and what comes back. */

/** The identity with which a request goes to the upstream:
 *  - `caller`: with the given headers and nothing else. Our certificate is not used, because the
 *    upstream would take the client for us.
 *  - `ourselves`: with our own certificate and token
 *  - `front-proxy`: with the certificate of a front proxy, whose X-Remote-* headers the upstream
 *    believes. Only for callers who were authenticated here. */
export type UpstreamIdentity = 'caller' | 'ourselves' | 'front-proxy'

/** One of our own small requests to the upstream: discovery, reviews. The response is read
 *  whole. */
export interface UpstreamCall {
  readonly method: string
  readonly path: string
  /** Names in lower case; several values make several lines. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body?: Uint8Array | undefined
  /** The limit of the response; a longer one fails with `upstream_failed`. 1 MiB if it is left
   *  out. */
  readonly maxBytes?: number | undefined
  readonly signal: AbortSignal
}

export interface UpstreamAnswer {
  readonly code: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Uint8Array
}

/** Sends calls to the upstream. */
export interface UpstreamCaller {
  /** Fails with `upstream_failed`, or `closed` if the signal is aborted. A response with any
   *  code is an answer. */
  call(request: UpstreamCall, as: UpstreamIdentity): Promise<UpstreamAnswer>
}
