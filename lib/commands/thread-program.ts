/** What the main thread passes to its face threads: the options that were given. */

export interface ThreadProgram {
  readonly values: readonly [string, readonly string[]][]
}
