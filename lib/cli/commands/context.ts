/** The context of every command. */

import type { LevelledLogger } from '@watchglass/base'
import type { OptionValues } from '../options/option-values.ts'

export interface CommandContext {
  readonly values: OptionValues
  readonly operands: readonly string[]
  readonly logger: LevelledLogger
  /** Takes what a command prints, if it may run beside others in a process. */
  readonly stdout: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>
  /** Aborted when the program is asked to stop. */
  readonly signal: AbortSignal
  /** From now on, passes the signals by which the program is asked to stop to a task, and does
   *  nothing else about them. */
  readonly takeSignals: (task: (name: NodeJS.Signals) => void) => void
  /** Calls `task` whenever the program is sent the signal that switches (SIGUSR2). */
  readonly onSwitch: (task: () => void) => void
}

/** Runs a command to its end. Resolves to its exit code; failures are thrown. */
export type CommandRunner = (context: CommandContext) => Promise<number>
