/** A command of the program in the process of the test. To start the program takes more of the
 *  processor than most commands; a test of its process starts it (program.ts). */

import { CacheError } from '../../../lib/base/errors.ts'
import { load } from '../../../lib/cli/commands/command-line.ts'
import type { CommandContext } from '../../../lib/cli/commands/context.ts'
import { runnerOf } from '../../../lib/cli/commands/run.ts'
import { silentLogger } from '../silent-logger.ts'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command that prints to the stream of its context; its failures are told as the program
 *  tells them. */
export async function runHere(...args: string[]): Promise<Ran> {
  let stdout = ''
  const write = (text: string | Uint8Array): boolean => {
    stdout += String(text)
    return true
  }
  try {
    const run = await runnerOf(args[0] ?? '')
    const code = await run(contextHere(args, { stdout: { isTTY: false, write } }))
    return { code, stdout, stderr: '' }
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    const code = error.code === 'invalid_request' ? 2 : 1
    return { code, stdout, stderr: `watchglass: ${error.message}\n` }
  }
}

/** The context of a command line that says nothing and is never asked to stop. */
export function contextHere(
  args: readonly string[],
  more: Partial<CommandContext> = {},
): CommandContext {
  const invocation = load(args, {})
  if (invocation.kind !== 'run') throw new Error('nothing is run')
  return {
    values: invocation.values,
    operands: invocation.operands,
    logger: { ...silentLogger, level: 'warn' },
    stdout: { isTTY: false, write: () => true },
    signal: new AbortController().signal,
    takeSignals: () => {},
    onSwitch: () => {},
    ...more,
  }
}
