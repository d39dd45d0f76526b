/** `npm run mutate:rules`: exit code 1 if a mutant was not noticed. */

import { ToolOptions } from '../runner/tool-options.ts'
import { tryMutants } from './run.ts'

const tool = new ToolOptions(`npm run mutate:rules -- [OPTION...]
  --count N   so many mutants (300)
  --seed N    which of them (1)
  --only TEXT files whose names have it in them
  --jobs N    so many at once (2)`)
const { values } = tool.read({
  options: {
    count: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '2' },
  },
})
const { mutants, survivors } = await tryMutants({
  count: tool.number('count', values.count),
  seed: tool.number('seed', values.seed),
  only: values.only,
  atOnce: tool.number('jobs', values.jobs),
  onResult: (name, by) => process.stdout.write(`${by ?? 'NOT NOTICED'.padEnd(52)} ${name}\n`),
})
process.stdout.write(`${mutants} mutants, ${survivors.length} not noticed\n`)
process.exitCode = survivors.length === 0 ? 0 : 1
