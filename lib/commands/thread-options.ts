/** What the main thread passes to its face threads: the options that were given. */

export interface ThreadOptions {
  readonly values: readonly [string, readonly string[]][]
}
