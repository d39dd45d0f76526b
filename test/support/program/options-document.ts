/** docs/OPTIONS.md: the help of every command, made from the table that the program itself
 *  reads. */

import { commands } from '../../../lib/cli/commands/commands.ts'
import { helpText } from '../../../lib/cli/commands/help.ts'

/** The document with the options of now. */
export function optionsDocument(): string {
  const names = ['serve', ...Object.keys(commands).filter(name => name !== 'serve')]
  const sections = names.map(
    name => `## watchglass ${name}\n\n\`\`\`text\n${helpText(name).trimEnd()}\n\`\`\`\n`,
  )
  return [
    '# Options',
    '',
    'Every option is a flag or an environment variable, which is named in brackets. The flag wins. This page is what',
    '`watchglass COMMAND --help` prints: `node dist/test/support/program/write-options.js` writes it.',
    '',
    sections.join('\n'),
  ].join('\n')
}
