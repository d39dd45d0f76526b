/** The options that the main thread was given and passes to its workers. */

export interface WorkerOptions {
  readonly values: readonly [string, readonly string[]][]
}
