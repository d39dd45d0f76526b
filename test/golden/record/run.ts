/** `npm run record:server -- --apiserver BIN --etcd BIN --out DIR`: what a real kube-apiserver
 *  answers, for test/golden/data (README.md). */

import { ToolOptions } from '../../support/runner/tool-options.ts'
import type { Teardown } from '../../support/etcd/etcd-cluster.ts'
import { RecordFailure } from './program.ts'
import { parts } from './questions/parts.ts'
import { record } from './record.ts'

const tool =
  new ToolOptions(`npm run record:server -- --apiserver BIN --etcd BIN --out DIR [OPTION...]
  --apiserver BIN   a kube-apiserver that somebody has built
  --etcd BIN        an etcd, 3.4 or later
  --out DIR         where the recording goes, such as test/golden/data/1.37
  --parts NAME,...  only these parts:
${parts.map(({ name, what }) => `      ${name.padEnd(14)} ${what}`).join('\n')}
  --flag FLAG       one more flag for kube-apiserver, such as --flag=--feature-gates=AllBeta=true;
                    may be given more than once
  --ready SECONDS   how long kube-apiserver may take to become ready (180)`)
const { values } = tool.read({
  options: {
    apiserver: { type: 'string' },
    etcd: { type: 'string' },
    out: { type: 'string' },
    parts: { type: 'string' },
    flag: { type: 'string', multiple: true, default: [] },
    ready: { type: 'string', default: '180' },
  },
})
const required = (name: 'apiserver' | 'etcd' | 'out'): string =>
  values[name] ?? tool.refuse(`--${name} is missing`)
const apiserver = required('apiserver')
const etcd = required('etcd')
const out = required('out')
const names = values.parts?.split(',') ?? parts.map(({ name }) => name)
const unknown = names.find(name => !parts.some(part => part.name === name))
if (unknown !== undefined) tool.refuse(`--parts: there is no part "${unknown}"`)

const tasks: (() => Promise<void>)[] = []
const scope: Teardown = { teardown: task => tasks.push(task) }
const progress = (message: string): void => void process.stderr.write(`${message}\n`)
let isStopped = false
const stop = async (): Promise<void> => {
  if (isStopped) return
  isStopped = true
  for (const task of tasks.toReversed()) await task()
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void stop().then(() => process.exit(1)))
}
try {
  const { exchanges, watches, events, setupErrors } = await record(scope, {
    apiserver,
    etcd,
    out,
    extraFlags: values.flag,
    readyMs: tool.number('ready', values.ready) * 1000,
    parts: parts.filter(({ name }) => names.includes(name)),
    progress,
  })
  for (const error of setupErrors) progress(`not as wanted: ${error}`)
  process.stdout.write(`${out}: ${exchanges} exchanges, ${watches} watches, ${events} events\n`)
} catch (error) {
  // A signal has stopped everything, which fails whatever was under way.
  if (!isStopped) {
    process.exitCode = 1
    progress(error instanceof RecordFailure ? error.message : String((error as Error).stack))
  }
} finally {
  await stop()
}
