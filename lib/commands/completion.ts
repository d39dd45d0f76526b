/** `watchglass completion`: prints the completion script of a shell. */

import { CacheError } from '../base/errors.ts'
import { completionScript, shells } from '../config/completion.ts'
import type { CommandContext } from './context.ts'

export async function completion({ operands: [name, ...rest] }: CommandContext): Promise<number> {
  const shell = shells.find(one => one === name)
  if (shell === undefined || rest.length > 0) {
    throw new CacheError(
      'invalid_request',
      'say for which shell: watchglass completion bash, zsh or fish',
    )
  }
  process.stdout.write(completionScript(shell))
  return 0
}
