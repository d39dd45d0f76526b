/** The mirror in simulated worlds. What a failure prints can be run again: `npm run simulate --
 *  --seed N --profile NAME --events M`. */

import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { profiles } from './faults.ts'
import { runWorld, simulate, WorldFailure } from './simulate.ts'
import { effort } from '../support/effort.ts'

/** The number of events in every test run; the seed is new each time, and named by a failure. */
const events = 42_000 * effort
/** Worlds of a new seed have restores that are plain to see: what is noticed of others has its
 *  limits (lib/ARCHITECTURE.md), and they are in the worlds of known seeds. */
const isPlain = true
/** Small enough that each profile has its turn. */
const eventsOfWorld = 12_000

const regressions = new URL('../../../test/sim/regressions/', import.meta.url)

interface Regression {
  readonly seed: number
  readonly profile: string
  readonly events: number
  /** Workers. */
  readonly threads?: number
  /** With clients of etcd's own API. */
  readonly replica?: boolean
  /** Findings of the world. */
  readonly found: string
}

t.test('every answer of every mirror is right, whatever fails', async t => {
  const seed = Math.floor(Math.random() * 1_000_000_000)
  // Half as long as the others: each profile has its turn.
  const { stats, worlds } = await simulate({
    events,
    seed,
    eventsOfWorld: eventsOfWorld / 2,
    world: { isPlain },
  })
  t.ok(worlds >= profiles.length, 'each profile had its turn')
  for (const type of ['any', 'consistent', 'not-older-than', 'exact']) {
    t.ok(stats.of(`${type} mirror`) > 100, `reads of type ${type} were answered`)
  }
  t.ok(stats.of('watched batch') > 1000, 'watchers saw batches')
  t.ok(stats.of('write done') > 1000)
  t.equal(stats.sum('violation'), 0, 'and nothing sound was called a violation')
})

t.test('faults of every kind were part of it', async t => {
  const { stats } = await simulate({ events: 105_000, seed: 4, eventsOfWorld: 15_000 })
  const kinds = ['cut', 'disconnect', 'elect', 'isolate', 'none reachable', 'restart', 'restore']
  for (const kind of [...kinds, 'silence']) t.ok(stats.of(`fault ${kind}`) > 0, kind)
  for (const name of ['bootstrap compacted', 'bootstrap joined', 'new epoch', 'watcher expired']) {
    t.ok(stats.of(name) > 0, name)
  }
})

t.test('a client that moves between workers never sees time go back', async t => {
  const seed = Math.floor(Math.random() * 1_000_000_000)
  const met = new Map<string, number>()
  for (const threads of [2, 4]) {
    const sizes = { events, eventsOfWorld: eventsOfWorld / 2 }
    const { stats } = await simulate({ ...sizes, seed, world: { threads, isPlain } })
    for (const type of ['any', 'consistent', 'not-older-than', 'exact']) {
      t.ok(stats.of(`${type} mirror`) > 100, `reads of type ${type} were answered`)
    }
    const faults = ['fault thread killed', 'fault thread stalled', 'ring was full', 'long record']
    for (const name of faults) met.set(name, (met.get(name) ?? 0) + stats.of(name))
  }
  for (const [name, count] of met) t.ok(count > 0, name)
})

t.test('reads are as fresh when an etcd in the process says its revision in memory', async t => {
  const seed = Math.floor(Math.random() * 1_000_000_000)
  for (const threads of [0, 2]) {
    const world = { threads, hasOwnRevision: true }
    const { stats } = await simulate({ events: 24_000, seed, eventsOfWorld, world })
    t.ok(stats.of('consistent mirror') > 100)
  }
})

t.test("every watch of etcd's API is right, whatever fails", async t => {
  const world = { hasReplica: true }
  const { stats } = await simulate({ events: 18_000 * effort, seed: 7, eventsOfWorld: 6000, world })
  for (const name of [
    'replica event',
    'replica progress',
    'replica client left',
    'replica watch at etcd',
  ]) {
    t.ok(stats.of(name) > 5, `${name}: ${stats.of(name)}`)
  }
})

t.test("what was found once in watches of etcd's API is never found again", async t => {
  const found: [string, number][] = [
    ['a start between what is mirrored and what was said began too late', 300_011],
    ['a position ahead of the mirror went back when the mirror was read anew', 200_074],
    ['a compaction ended a watcher that had been told of progress beyond it', 400_144],
    ['a restored etcd proved a position in the old history', 400_089],
    ['what was seen of an old epoch moved positions of the new one', 500_230],
  ]
  for (const [what, seed] of found) {
    for (const profile of profiles) {
      await t.resolves(runWorld({ seed, profile, events: 2000, hasReplica: true }), what)
    }
  }
})

t.test('the same seed replays the same world', async t => {
  const profile = profiles.find(({ name }) => name === 'everything')!
  const runs = [1, 2].map(() => runWorld({ seed: 77, profile, events: 4000 }))
  const [one, two] = await Promise.all(runs)
  t.equal(one?.events, two?.events)
  t.same(one?.stats.counts, two?.stats.counts)
})

t.test('progress that overtakes events, believed, is found out', async t => {
  const world = { hasProgressBug: true, isCheckingVersions: false }
  for (const seed of [1, 2, 3]) {
    const failure = await simulate({ events: 20_000, seed, world }).catch((error: unknown) => error)
    t.ok(failure instanceof WorldFailure, `seed ${seed}`)
  }
})

t.test('the version check keeps every answer right with that bug', async t => {
  const world = { hasProgressBug: true, version: '3.4.23' }
  const { stats } = await simulate({ events: 20_000, seed: 1, world })
  t.ok(stats.of('consistent mirror') > 0, 'some reads are answered by the event of their revision')
  t.equal(stats.sum('violation'), 0)
})

t.test('what was found once is never found again', async t => {
  for (const file of readdirSync(regressions).filter(name => name.endsWith('.json'))) {
    const text = readFileSync(new URL(file, regressions), 'utf8')
    const { seed, events, threads, replica: hasReplica, ...rest } = JSON.parse(text) as Regression
    const profile = profiles.find(({ name }) => name === rest.profile)!
    await t.resolves(runWorld({ seed, profile, events, threads, hasReplica }), rest.found)
  }
})
