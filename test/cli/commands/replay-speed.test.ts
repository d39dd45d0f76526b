import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { allKeys, textFromKey } from '../../../lib/base/keys.ts'
import type { Clock } from '../../../lib/base/clock.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import {
  parseSpeed,
  RecordingReplay,
} from '../../../lib/cli/commands/recordings/recording-replay.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { createTestEngine } from '../../support/etcd/test-engine.ts'

/** A clock on which waits end at once, and are noted. */
class HurriedClock implements Clock {
  readonly #now = { ms: 5_000_000 }

  wallMs(): number {
    return this.#now.ms
  }

  monotonicMs(): number {
    return this.#now.ms
  }

  setTimer(delayMs: number, task: () => void): () => void {
    this.#now.ms += delayMs
    return systemClock.setTimer(0, task)
  }

  yield(): Promise<void> {
    return systemClock.yield()
  }
}

function line(
  at: number,
  key: string,
  options: { created?: number; value?: string; timeMs?: number },
): string {
  const { created = at, value, timeMs } = options
  const time = timeMs === undefined ? {} : { time_ms: timeMs }
  if (value === undefined) return JSON.stringify({ rev: at, type: 'delete', key, ...time })
  return JSON.stringify({
    rev: at,
    type: 'put',
    key,
    value: Buffer.from(value).toString('base64'),
    create_revision: created,
    mod_revision: timeMs === undefined ? created : at,
    version: timeMs === undefined || created === at ? 1 : 2,
    lease: '0',
    ...time,
  })
}

/** At revision 10 there are /a and /b; then /a changes, /c comes, /b goes. */
function recording(t: Test, hasTimes = true): string {
  const path = join(t.testdir(), 'history.jsonl')
  const time = (ms: number): { timeMs?: number } => (hasTimes ? { timeMs: 1_000_000 + ms } : {})
  const lines = [
    line(10, '/a', { created: 4, value: 'a' }),
    line(10, '/b', { created: 5, value: 'b' }),
    line(11, '/c', { value: 'c', ...time(0) }),
    line(12, '/d', { value: 'd', ...time(4000) }),
    line(13, '/b', time(10_000)),
  ]
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

async function contents(client: Client): Promise<string[]> {
  const { entries } = await client.range({ range: allKeys })
  return entries.map(({ key, value }) => `${textFromKey(key)}=${Buffer.from(value).toString()}`)
}

t.test(
  'changes come as far apart as they were recorded, and their times are moved to now',
  async t => {
    const client = createTestEngine(t).client
    const clock = new HurriedClock()
    const moved: number[] = []
    const replay = new RecordingReplay({
      path: recording(t),
      speed: parseSpeed('2x'),
      isLooped: false,
      client,
      clock,
      moveTimes: (value, byMs) => {
        moved.push(byMs)
        return value
      },
      onRound: () => {},
      signal: new AbortController().signal,
    })
    await replay.begin()
    t.strictSame(await contents(client), ['/a=a', '/b=b'])
    const startMs = clock.monotonicMs()
    await replay.run()
    t.strictSame(await contents(client), ['/a=a', '/c=c', '/d=d'])
    t.equal(clock.monotonicMs() - startMs, 5000, 'ten seconds at twice the speed')
    t.strictSame(moved, [4_000_000, 3_998_000])
  },
)

t.test('what there is at first is written in transactions that etcd takes', async t => {
  const path = join(t.testdir(), 'history.jsonl')
  const value = 'x'.repeat(900_000)
  const lines = ['/a', '/b', '/c'].map(key => line(10, key, { created: 4, value }))
  writeFileSync(path, `${lines.join('\n')}\n`)
  const client = createTestEngine(t).client
  const replay = new RecordingReplay({
    path,
    speed: parseSpeed('max'),
    isLooped: false,
    client,
    clock: new HurriedClock(),
    moveTimes: one => one,
    onRound: () => {},
    signal: new AbortController().signal,
  })
  await replay.begin()
  t.equal((await client.range({ range: allKeys })).count, 3)
})

t.test('a loop begins each round with what there was at first', async t => {
  const client = createTestEngine(t).client
  const stop = new AbortController()
  const rounds: string[][] = []
  const replay = new RecordingReplay({
    path: recording(t, false).toString(),
    speed: parseSpeed('max'),
    isLooped: true,
    client,
    clock: new HurriedClock(),
    moveTimes: value => value,
    onRound: () => {
      void contents(client).then(found => rounds.push(found))
      if (rounds.length >= 2) stop.abort()
    },
    signal: stop.signal,
  })
  await replay.begin()
  await replay.run()
  for (const round of rounds) t.strictSame(round, ['/a=a', '/c=c', '/d=d'])
  t.ok(rounds.length >= 2)
})

t.test('a recording without times has no speed of its own', async t => {
  const replay = new RecordingReplay({
    path: recording(t, false),
    speed: parseSpeed('1x'),
    isLooped: false,
    client: createTestEngine(t).client,
    clock: new HurriedClock(),
    moveTimes: value => value,
    onRound: () => {},
    signal: new AbortController().signal,
  })
  await t.rejects(replay.run(), { message: /has no times.* use --speed max, or a rate/ })
  for (const text of ['', '0x', '1', 'fast', '-1x', '5/m']) {
    t.throws(() => parseSpeed(text), { message: `--speed "${text}" is no speed such as 1x` }, text)
  }
  t.strictSame(parseSpeed('100/s'), { type: 'rate', perSecond: 100 })
})
