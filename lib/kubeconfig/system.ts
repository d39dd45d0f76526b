/** The machine as this package needs it, handed in so that tests decide what files, variables and
 *  plugins there are. `node-system.ts` is the real one. */

export interface KubeconfigSystem {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The folder that has `.kube`; empty if there is none. */
  readonly homeFolder: string
  /** Standard input is a terminal. */
  readonly isTerminal: boolean
  /** The bytes of a file, up to a bound. Fails with an error that has a `code`. */
  readFile(path: string): Promise<Buffer>
  /** Runs a program to its end. Never fails: how it ended is the answer. */
  run(program: PluginProgram): Promise<PluginEnd>
}

export interface PluginProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Our standard input is its own. */
  readonly isInteractive: boolean
  /** Killed when it has run for so long, or has written more than this to standard output. */
  readonly maxMs: number
  readonly outputMaxBytes: number
}

/** The end of a program. Its standard error went to ours. */
export type PluginEnd =
  | { readonly type: 'exited'; readonly code: number; readonly output: string }
  | { readonly type: 'signalled'; readonly signal: string }
  | { readonly type: 'missing' }
  | { readonly type: 'late' }
  | { readonly type: 'verbose' }
  | { readonly type: 'failed'; readonly reason: string }
