/** `npm run soak -- [--pods N] [--changes N] [--seconds N]`: informers on a large cluster that
 *  never rests, which in the end must know what a list says. `npm run soak -- --rolling [--pods N]
 *  [--changes N] [--watchers N] [--lists N]`: two replicas are restarted one after the other, and
 *  no client may see an error. `npm run soak -- --minutes N [--seed N] [--folder PATH]`: everything
 *  at once, with trouble, for a long time: no read may be wrong, and neither memory nor descriptors
 *  may grow. */

import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ToolOptions } from '../../support/runner/tool-options.ts'
import type { Teardown } from '../../support/etcd/etcd-cluster.ts'
import { soak } from './informers.ts'
import { longSoak } from './long/long-soak.ts'
import { reportText } from './long/report.ts'
import { rollingRestart } from './rolling.ts'

const tool = new ToolOptions(`npm run soak -- [OPTION...]
  --seconds N   informers on a large cluster, for so long (60)
  --rolling     two replicas are restarted one after the other
  --minutes N   everything at once, with trouble, for so long
  --pods N      so many pods (100000; 40 with --rolling)
  --changes N   changes a second (200; 10 with --rolling)
  --watchers N  with --rolling (500)
  --lists N     lists a second, with --rolling (200)
  --seed N      with --minutes (1)
  --folder PATH for logs and samples, with --minutes (a folder among the temporary files)`)
const { values } = tool.read({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string', default: '1' },
    folder: { type: 'string', default: join(tmpdir(), 'watchglass-long-soak') },
    rolling: { type: 'boolean', default: false },
    pods: { type: 'string' },
    changes: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    watchers: { type: 'string', default: '500' },
    lists: { type: 'string', default: '200' },
  },
})
const tasks: (() => Promise<void>)[] = []
const scope: Teardown = { teardown: task => tasks.push(task) }
const progress = (message: string): void => void process.stderr.write(`${message}\n`)
try {
  process.stdout.write(`${await chosen()}\n`)
} finally {
  for (const task of tasks.toReversed()) await task()
}

function chosen(): Promise<string> {
  if (values.minutes !== undefined) return long(tool.number('minutes', values.minutes))
  return values.rolling ? rolling() : informers()
}

async function long(minutes: number): Promise<string> {
  const { seed, folder } = values
  progress(`logs and samples are in ${folder}`)
  const ms = minutes * 60_000
  const report = await longSoak(scope, {
    ms,
    warmUpMs: Math.min(600_000, ms / 3),
    killEveryMs: 60_000,
    certificatesEveryMs: 100_000,
    sampleEveryMs: 10_000,
    seed: tool.number('seed', seed),
    folder,
    progress: message => progress(`${new Date().toISOString()} ${message}`),
  })
  if (report.faults.length + report.growth.length > 0) process.exitCode = 1
  return reportText(report)
}

async function informers(): Promise<string> {
  const cuts = 3
  const partMs = (tool.number('seconds', values.seconds) * 1000) / (cuts + 1)
  const { changes, events, objects, restarts } = await soak(scope, {
    pods: tool.number('pods', values.pods ?? '100000'),
    changesPerSecond: tool.number('changes', values.changes ?? '200'),
    lasts: () => new Promise(resolve => setTimeout(resolve, partMs)),
    cuts,
    progress,
  })
  return (
    `${changes} changes, ${events} events at ${objects.length} informers with ${objects.join(', ')} pods, ` +
    `${restarts} restarts: all are equal to a list`
  )
}

async function rolling(): Promise<string> {
  const { errors, ...figures } = await rollingRestart(scope, {
    pods: tool.number('pods', values.pods ?? '40'),
    changesPerSecond: tool.number('changes', values.changes ?? '10'),
    watchers: tool.number('watchers', values.watchers),
    listsPerSecond: tool.number('lists', values.lists),
    shutdownDelay: 2,
    settleMs: 5000,
    restarts: 2,
    progress,
  })
  if (errors.length > 0) process.exitCode = 1
  const first = errors.slice(0, 10).map(error => `\n  ${error}`)
  return `${JSON.stringify(figures)}, ${errors.length} errors${first.join('')}`
}
