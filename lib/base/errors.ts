/** The one error class for failures that the outside world can cause, and the closed union of their
 *  codes. Each protocol that is served owns one total table from code to its own; a new code does
 *  not compile until every one maps it. */

export type ErrorCode =
  | 'invalid_request' // the caller asked for something that has no meaning
  | 'not_found'
  | 'expired' // below the oldest revision that is kept
  | 'future_revision' // above the latest revision
  | 'conflict' // the store refused a change: it does not follow from what is there
  | 'too_large' // etcd takes no such large request
  | 'not_ready' // not restored yet; try again later
  | 'overloaded' // a limit is reached; try again later
  | 'unsupported' // well-formed, but we cannot answer it exactly
  | 'unauthorized' // etcd or the upstream did not accept our credentials
  | 'upstream_failed'
  | 'source_failed' // etcd failed or could not be reached
  | 'closed' // we are stopping, or the caller went away

/** Facts that a caller may act on, beside the code. */
export interface ErrorDetails {
  /** The oldest revision that is still kept, with `expired`. */
  readonly oldest?: number | undefined
  /** The latest revision, with `future_revision`. */
  readonly latest?: number | undefined
  /** When it makes sense to try again. */
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/** A failure. Decide on `code`, never on the text. Messages are lower case: the thing, the value,
 *  the limit. */
export class CacheError extends Error {
  override readonly name = 'CacheError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.details = details
  }

  /** Normalises whatever was thrown at an edge. A `CacheError` stays as it is. */
  static from(thrown: unknown, code: ErrorCode): CacheError {
    if (thrown instanceof CacheError) return thrown
    return new CacheError(code, thrown instanceof Error ? thrown.message : String(thrown), {
      cause: thrown,
    })
  }
}
