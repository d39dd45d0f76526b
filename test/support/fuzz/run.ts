/** `npm run fuzz -- --requests 1000000 --seed N`: made-up requests through the whole door, or with
 *  `--what writes` odd objects through all that writes do. Exit code 1 if there was a finding. */

import { ToolOptions } from '../runner/tool-options.ts'
import { fuzzWrites } from './fuzz-writes.ts'
import { fuzzValues } from './fuzz-values.ts'
import { fuzz } from './fuzz.ts'

const tool = new ToolOptions(`npm run fuzz -- [OPTION...]
  --what WHAT   requests: bytes through the listener; writes: objects with odd values, in JSON,
                YAML, CBOR and protobuf; values: stored values, lines of recordings and
                certificates (requests)
  --requests N  so many requests (100000)
  --seed N      1 by default`)
const { values } = tool.read({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    what: { type: 'string', default: 'requests' },
  },
})
const options = {
  requests: tool.number('requests', values.requests),
  seed: tool.number('seed', values.seed),
}
if (values.what === 'writes') {
  const { sent, stored, findings } = await fuzzWrites(options)
  end([`${sent} objects, ${stored} writes of them were stored`], findings)
} else if (values.what === 'values') {
  const { sent, read, findings } = fuzzValues(options)
  end([`${sent} values, ${read} of them could be read`], findings)
} else if (values.what === 'requests') await fuzzRequests()
else tool.refuse(`--what ${values.what} is neither requests nor writes nor values`)

async function fuzzRequests(): Promise<void> {
  const tasks: (() => unknown)[] = []
  const startMs = performance.now()
  const scope = { teardown: (task: unknown) => void tasks.unshift(task as () => unknown) }
  const { sent, passed, statuses, findings, slowestMs } = await fuzz(scope, options)
  for (const task of tasks) await task()
  const seconds = Math.round((performance.now() - startMs) / 1000)
  const counts = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`)
  const lines = [
    `${sent} requests in ${seconds} s, ${passed} reached the upstream, a plain one took ${Math.round(slowestMs)} ms at most`,
    `answers: ${counts.join(', ')}`,
  ]
  end(lines, findings)
}

function end(lines: readonly string[], findings: readonly string[]): void {
  const found = findings.length === 0 ? ['no findings'] : findings.slice(0, 20)
  process.stdout.write(`${[...lines, ...found].join('\n')}\n`)
  process.exitCode = findings.length === 0 ? 0 : 1
}
