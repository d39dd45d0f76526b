/** `watchglass stages`: prints the lifecycles of `--simulate`, for `--stages`. */

import { stringify } from 'yaml'
import { CacheError } from '@watchglass/base'
import { load } from '../compose/loaded-code.ts'
import type { CommandContext } from './context.ts'

const about = `# What serve --simulate does with pods and nodes. Change it, and load it: serve --simulate all --stages FILE
`

export async function stages({ operands: [operand] }: CommandContext): Promise<number> {
  if (operand !== undefined) {
    throw new CacheError('invalid_request', `stages takes no argument, but was given "${operand}"`)
  }
  const { builtInStages } = await load.builtInStages()
  const documents = builtInStages.map(one =>
    stringify(one, { lineWidth: 0, aliasDuplicateObjects: false }),
  )
  process.stdout.write(`${about}${documents.map(text => `---\n${text}`).join('')}`)
  return 0
}
