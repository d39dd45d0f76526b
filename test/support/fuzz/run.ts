/** `npm run fuzz -- --requests 1000000 --seed N`: made-up requests through the whole service, or
 *  with `--what writes` odd objects through all that writes do. Exit code 1 if there was a
 *  finding. */

import { ToolOptions } from '../runner/tool-options.ts'
import { fuzzEtcdServer } from './fuzz-etcd-server.ts'
import { fuzzFrames } from './fuzz-frames.ts'
import { fuzzWrites } from './fuzz-writes.ts'
import { fuzzValues } from './fuzz-values.ts'
import { fuzz } from './fuzz.ts'

const tool = new ToolOptions(`npm run fuzz -- [OPTION...]
  --what WHAT   requests: bytes through the listener; writes: objects with odd values, in JSON,
                YAML, CBOR and protobuf; values: stored values, lines of recordings,
                certificates, CBOR, YAML, selectors, expressions and records of data
                folders; etcd-server: calls of etcd's API
                through its listeners; frames: connections of frames of HTTP/2, WebSockets
                and SPDY, and of answers of etcd (requests)
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
} else if (values.what === 'etcd-server') await fuzzEtcdCalls()
else if (values.what === 'frames') await fuzzOddFrames()
else if (values.what === 'requests') await fuzzRequests()
else tool.refuse(`--what ${values.what}: not requests, writes, values, etcd-server or frames`)

async function fuzzRequests(): Promise<void> {
  const [seconds, { sent, passed, statuses, findings, slowestMs }] = await inScope(scope =>
    fuzz(scope, options),
  )
  const lines = [
    `${sent} requests in ${seconds} s, ${passed} reached the upstream, a plain one took ${Math.round(slowestMs)} ms at most`,
    `answers: ${counted(statuses)}`,
  ]
  end(lines, findings)
}

async function fuzzEtcdCalls(): Promise<void> {
  const [seconds, { sent, statuses, findings, slowestMs }] = await inScope(scope =>
    fuzzEtcdServer(scope, options),
  )
  const lines = [
    `${sent} calls in ${seconds} s, a plain one took ${Math.round(slowestMs)} ms at most`,
    `statuses: ${counted(statuses)}`,
  ]
  end(lines, findings)
}

async function fuzzOddFrames(): Promise<void> {
  const [seconds, { sent, begun, findings }] = await inScope(scope => fuzzFrames(scope, options))
  end([`${sent} connections in ${seconds} s, ${begun} requests of them have begun`], findings)
}

/** Runs something with its end, and says how many seconds it took. */
async function inScope<T>(
  run: (scope: { teardown(task: unknown): void }) => Promise<T>,
): Promise<[seconds: number, result: T]> {
  const tasks: (() => unknown)[] = []
  const startMs = performance.now()
  const result = await run({ teardown: task => void tasks.unshift(task as () => unknown) })
  for (const task of tasks) await task()
  return [Math.round((performance.now() - startMs) / 1000), result]
}

function counted(statuses: Readonly<Record<string, number>>): string {
  return Object.entries(statuses)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ')
}

function end(lines: readonly string[], findings: readonly string[]): void {
  const found = findings.length === 0 ? ['no findings'] : findings.slice(0, 20)
  process.stdout.write(`${[...lines, ...found].join('\n')}\n`)
  process.exitCode = findings.length === 0 ? 0 : 1
}
