/** `npm run mutate:rules`: exit code 1 if more than one mutant in twenty was not noticed. */

import { ToolOptions } from '../runner/tool-options.ts'
import { byCompiler, tryMutants } from './run.ts'

const tool = new ToolOptions(`npm run mutate:rules -- [OPTION...]
  --count N   so many mutants (300)
  --seed N    which of them (1)
  --from N    without the first N of these, which were tried before (0)
  --live      those that lived when this seed was tried last
  --rules     only rules of validation, warnings, strategy, defaults, conversion and columns
  --only TEXT files whose names have it in them
  --jobs N    so many at once (2)
  --control   change nothing: no test may notice`)
const { values } = tool.read({
  options: {
    count: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    live: { type: 'boolean', default: false },
    rules: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: '2' },
    control: { type: 'boolean', default: false },
  },
})
const write = (text: string): unknown => process.stdout.write(`${text}\n`)
const results = await tryMutants({
  count: tool.number('count', values.count),
  seed: tool.number('seed', values.seed),
  from: tool.number('from', values.from),
  only: values.only,
  isRules: values.rules,
  isLive: values.live,
  isControl: values.control,
  atOnce: tool.number('jobs', values.jobs),
  onReach: ({ test, tookMs, why }) => {
    write(`# ${tookMs} ms ${test}${why === undefined ? '' : `: not asked, fails alone: ${why}`}`)
  },
  onResult: ({ name, by, tests }) => {
    write(`${by ?? (tests === 0 ? 'NO TEST REACHES' : `NOT NOTICED by ${tests}`)}  ${name}`)
  },
})
const survivors = results.filter(({ by }) => by === undefined)
const refused = results.filter(({ by }) => by === byCompiler)
write(
  `${results.length} mutants, ${survivors.length} not noticed (${refused.length} by ${byCompiler} only)`,
)
for (const { name, tests } of survivors) write(`  ${name}${tests === 0 ? ' (not reached)' : ''}`)
const most = values.control ? results.length : results.length / 20
process.exitCode = survivors.length > most ? 1 : 0
