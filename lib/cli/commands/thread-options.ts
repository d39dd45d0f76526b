/** The options that the main thread was given and passes to its face threads. */

export interface ThreadOptions {
  readonly values: readonly [string, readonly string[]][]
}
