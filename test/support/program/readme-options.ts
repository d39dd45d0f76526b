/** The options of `serve` as README shows them: made from the table that the program itself reads. */

import { helpText } from '../../../lib/config/help.ts'

const begin = /(<!-- options: .*? -->\n)[^]*?(<!-- \/options -->)/

/** README with the options of now. */
export function withOptions(readme: string): string {
  const block = `\n\`\`\`text\n${helpText('serve').trimEnd()}\n\`\`\`\n\n`
  return readme.replace(begin, (_, before: string, after: string) => before + block + after)
}
