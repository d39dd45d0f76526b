/** `npm run simulate`: simulates, and prints what happened. With a profile, one world of that
 *  profile and seed, as the message of a failure gives them. */

import { ToolOptions } from '../support/runner/tool-options.ts'
import { profiles } from './faults.ts'
import { runWorld, simulate, type SimulationResult } from './simulate.ts'

const tool = new ToolOptions(`npm run simulate -- [OPTION...]
  --events N      so many events in all (1000000)
  --seed N        random by default
  --world N       so many events in each world
  --profile NAME  one world with these faults: ${profiles.map(({ name }) => name).join(', ')}
  --threads N     with so many workers (0)
  --replica       with clients of etcd's own API
  --own           with an etcd that says its revision in memory
  --plain         restores show by the cluster id, or by a revision that goes back`)
const { values } = tool.read({
  options: {
    events: { type: 'string', default: '1000000' },
    seed: { type: 'string' },
    profile: { type: 'string' },
    world: { type: 'string' },
    threads: { type: 'string', default: '0' },
    replica: { type: 'boolean', default: false },
    own: { type: 'boolean', default: false },
    plain: { type: 'boolean', default: false },
  },
})
const events = tool.number('events', values.events)
const threads = tool.number('threads', values.threads)
const seed = tool.number('seed', values.seed ?? `${Math.floor(Math.random() * 1_000_000)}`)
const startMs = performance.now()
const result = await run()
const seconds = (performance.now() - startMs) / 1000
for (const [name, count] of [...result.stats.counts].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  process.stdout.write(`${name.padEnd(36)} ${count.toLocaleString('en-US').padStart(12)}\n`)
}
process.stdout.write(
  `seed ${seed}: ${result.events.toLocaleString('en-US')} events in ${result.worlds} worlds, ${seconds.toFixed(1)} s, ` +
    `${Math.round(result.events / seconds).toLocaleString('en-US')} events/s, every check held\n`,
)

async function run(): Promise<SimulationResult> {
  const world = {
    threads,
    hasReplica: values.replica,
    hasOwnRevision: values.own,
    isPlain: values.plain,
  }
  if (values.profile === undefined) {
    const eventsOfWorld =
      values.world === undefined ? undefined : tool.number('world', values.world)
    return simulate({ events, seed, eventsOfWorld, world, onWorld: showProgress })
  }
  const profile = profiles.find(({ name }) => name === values.profile)
  if (profile === undefined) return tool.refuse(`no profile is called ${values.profile}`)
  const ran = await runWorld({ ...world, seed, profile, events })
  return { events: ran.events, worlds: 1, stats: ran.stats }
}

function showProgress(done: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${done.toLocaleString('en-US')} events`)
}
