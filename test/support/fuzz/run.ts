/** `npm run fuzz -- --requests 1000000 --seed N`: made-up requests through the whole door. Exit
 *  code 1 if there was a finding. */

import { ToolOptions } from '../runner/tool-options.ts'
import { fuzz } from './fuzz.ts'

const tool = new ToolOptions(`npm run fuzz -- [OPTION...]
  --requests N  so many requests (100000)
  --seed N      1 by default`)
const { values } = tool.read({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
  },
})
const tasks: (() => unknown)[] = []
const startMs = performance.now()
const report = await fuzz(
  { teardown: task => void tasks.unshift(task as () => unknown) },
  { requests: tool.number('requests', values.requests), seed: tool.number('seed', values.seed) },
)
for (const task of tasks) await task()
const seconds = Math.round((performance.now() - startMs) / 1000)
const { sent, passed, statuses, findings, slowestMs } = report
const counts = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`)
process.stdout.write(
  `${sent} requests in ${seconds} s, ${passed} reached the upstream, a plain one took ${Math.round(slowestMs)} ms at most\n` +
    `answers: ${counts.join(', ')}\n` +
    (findings.length === 0 ? 'no findings\n' : `${findings.slice(0, 20).join('\n')}\n`),
)
process.exitCode = findings.length === 0 ? 0 : 1
