/** `npm run soak -- [--pods N] [--changes N] [--seconds N]`: informers on a large cluster that never rests, which in the end must know
 *  what a list says. `npm run soak -- --rolling [--pods N] [--changes N] [--watchers N] [--lists N]`: two replicas are restarted one
 *  after the other, and no client may see an error. */

import { parseArgs } from 'node:util'
import type { Teardown } from '../../support/etcd/etcd-cluster.ts'
import { soak } from './informers.ts'
import { rollingRestart } from './rolling.ts'

const { values } = parseArgs({
  options: {
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
  process.stdout.write(`${await (values.rolling ? rolling() : informers())}\n`)
} finally {
  for (const task of tasks.toReversed()) await task()
}

async function informers(): Promise<string> {
  const cuts = 3
  const partMs = (Number(values.seconds) * 1000) / (cuts + 1)
  const { changes, events, objects, restarts } = await soak(scope, {
    pods: Number(values.pods ?? 100_000),
    changesPerSecond: Number(values.changes ?? 200),
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
    pods: Number(values.pods ?? 100),
    changesPerSecond: Number(values.changes ?? 10),
    watchers: Number(values.watchers),
    listsPerSecond: Number(values.lists),
    shutdownDelay: 2,
    settleMs: 5000,
    restarts: 2,
    progress,
  })
  if (errors.length > 0) process.exitCode = 1
  const first = errors.slice(0, 10).map(error => `\n  ${error}`)
  return `${JSON.stringify(figures)}, ${errors.length} errors${first.join('')}`
}
