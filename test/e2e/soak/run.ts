/** `npm run soak -- [--pods N] [--changes N] [--seconds N]`: informers on a large cluster that never rests, which in the end must know
 *  what a list says. */

import { parseArgs } from 'node:util'
import { soak } from './informers.ts'

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '100000' },
    changes: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
  },
})
const cuts = 3
const partMs = (Number(values.seconds) * 1000) / (cuts + 1)
const tasks: (() => Promise<void>)[] = []
try {
  const report = await soak(
    { teardown: task => tasks.push(task) },
    {
      pods: Number(values.pods),
      changesPerSecond: Number(values.changes),
      lasts: () => new Promise(resolve => setTimeout(resolve, partMs)),
      cuts,
      progress: message => process.stderr.write(`${message}\n`),
    },
  )
  const { changes, events, objects, restarts } = report
  process.stdout.write(
    `${changes} changes, ${events} events at ${objects.length} informers with ${objects.join(', ')} pods, ` +
      `${restarts} restarts: all are equal to a list\n`,
  )
} finally {
  for (const task of tasks.toReversed()) await task()
}
