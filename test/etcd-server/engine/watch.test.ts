/** Cases that the differential tests cannot time: clients that do not read, progress on a timer,
 *  positions that are compacted. */

import { joinParts } from '../../support/etcd/join-parts.ts'
import { SeededScheduler } from '../../support/etcd/seeded-scheduler.ts'
import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import { Engine, type EngineOptions } from '../../../lib/etcd-server/engine/engine.ts'
import type { WatcherStream } from '../../../lib/etcd-server/engine/watches/watcher-stream.ts'
import type {
  WatchCreateMessage,
  WatchResponseMessage,
} from '../../../lib/etcd/proto/watch-messages.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const everything: WatchCreateMessage = {
  key: '\0' as Key,
  rangeEnd: '\0' as Key,
  startRevision: 0,
  progressNotify: false,
  filters: [],
  previous: false,
  watchId: 0n,
  fragment: false,
}

/** An engine of one member, and one watch stream whose client takes so many responses. */
class Bench {
  readonly clock: FakeClock = new FakeClock()
  readonly scheduler: SeededScheduler = new SeededScheduler(createRandom(1))
  readonly engine: Engine
  readonly responses: WatchResponseMessage[] = []
  readonly stream: WatcherStream
  credit = Infinity

  constructor(options: Partial<EngineOptions> = {}) {
    const { clock, scheduler } = this
    this.engine = new Engine({ clock, random: createRandom(1), scheduler, ...options })
    const send = (response: WatchResponseMessage): boolean => {
      this.responses.push(response)
      this.credit--
      return this.credit > 0
    }
    this.stream = this.engine.members[0]!.openWatch(
      {
        send,
        sendPart: joinParts(send),
        sendFirst: response => void this.responses.push(response),
        end: () => undefined,
      },
      { requiresLeader: false },
    )
  }

  put(name: string, value: string | Buffer = 'x'): void {
    const put = { lease: 0n, previous: false, ignoreValue: false, ignoreLease: false }
    const key = keyFromText(name)
    this.engine.members[0]!.put({ key, value: Buffer.from(value), ...put }, () => undefined)
  }

  watch(fields: Partial<WatchCreateMessage> = {}): void {
    this.stream.handle({ type: 'create', value: { ...everything, ...fields } })
  }

  progress(): void {
    this.stream.handle({ type: 'progress', value: {} })
  }

  run(): void {
    while (this.scheduler.step());
  }

  /** Responses since the last time, in short. */
  take(): string[] {
    return this.responses.splice(0).map(response => {
      const { watchId, created, canceled, compactRevision, events, header } = response
      if (created) return `created ${watchId}`
      if (canceled) return `canceled ${watchId} ${compactRevision}`
      if (events.length === 0) return `progress ${watchId} ${header?.revision}`
      return `${watchId}: ${events.map(({ revision }) => revision).join(' ')}`
    })
  }
}

t.test('a client that does not read costs nothing, and misses nothing', async t => {
  const bench = new Bench()
  bench.watch()
  bench.credit = 2
  for (let i = 0; i < 5; i++) bench.put('a')
  bench.run()
  t.strictSame(bench.take(), ['created 0', '0: 2', '0: 3'])
  bench.progress()
  t.strictSame(bench.take(), [], 'no progress while it is behind')
  bench.credit = Infinity
  bench.stream.resume()
  bench.run()
  t.strictSame(bench.take(), ['0: 4 5 6'])
  bench.put('a')
  bench.progress()
  t.strictSame(bench.take(), ['0: 7', 'progress -1 7'])
})

t.test(
  'a replay comes in responses of at most 1,000 revisions, others get their turn between',
  async t => {
    const bench = new Bench()
    for (let i = 0; i < 2500; i++) bench.put('a')
    bench.watch({ startRevision: 2 })
    bench.progress()
    bench.run()
    const [created, ...rest] = bench.responses
    t.ok(created?.created)
    t.strictSame(
      rest.map(({ events }) => events.length),
      [1000, 1000, 500],
    )
  },
)

t.test('a replay that is large comes in several responses, no revision split', async t => {
  const bench = new Bench()
  for (let i = 0; i < 10; i++) bench.put('a', Buffer.alloc(500_000))
  bench.watch({ startRevision: 2 })
  bench.run()
  t.strictSame(bench.take(), ['created 0', '0: 2 3 4 5 6', '0: 7 8 9 10 11'])
})

t.test(
  'a watcher whose position is compacted is told so, and silences progress until canceled',
  async t => {
    const bench = new Bench()
    for (let i = 0; i < 10; i++) bench.put('a')
    bench.engine.compact(8)
    bench.watch({ startRevision: 5 })
    bench.watch()
    bench.run()
    bench.progress()
    t.strictSame(bench.take(), ['created 0', 'created 1', 'canceled 0 8'])
    bench.stream.handle({ type: 'cancel', value: { watchId: 0n } })
    bench.progress()
    t.strictSame(bench.take(), ['canceled 0 0', 'progress -1 11'])
  },
)

t.test('a blocked client whose position is compacted meanwhile is told so', async t => {
  const bench = new Bench()
  bench.watch()
  bench.credit = 1
  for (let i = 0; i < 10; i++) bench.put('a')
  bench.engine.compact(9)
  bench.credit = Infinity
  bench.stream.resume()
  bench.run()
  t.strictSame(bench.take(), ['created 0', '0: 2', 'canceled 0 9'])
})

t.test('a watch from a future revision keeps progress silent until then', async t => {
  const bench = new Bench()
  bench.watch({ startRevision: 4 })
  bench.put('a')
  bench.put('a')
  bench.progress()
  bench.put('b')
  bench.progress()
  t.strictSame(bench.take(), ['created 0', '0: 4', 'progress -1 4'])
})

t.test(
  'watchers that asked for it are told progress when nothing has happened for a while',
  async t => {
    const bench = new Bench({ progressIntervalMs: 1000 })
    bench.watch({ progressNotify: true })
    bench.watch()
    await bench.clock.advance(1100)
    t.strictSame(bench.take(), ['created 0', 'created 1', 'progress 0 1'])
    bench.put('a')
    await bench.clock.advance(1100)
    t.strictSame(bench.take(), ['0: 2', '1: 2'], 'an event speaks for itself')
    await bench.clock.advance(1100)
    t.strictSame(bench.take(), ['progress 0 2'])
    bench.stream.close()
    t.equal(bench.clock.pendingTimers, 0)
  },
)

t.test('previous values are left out as soon as they are compacted', async t => {
  const bench = new Bench()
  for (const value of ['1', '2', '3']) bench.put('a', value)
  bench.engine.compact(3)
  bench.watch({ startRevision: 3, previous: true })
  bench.run()
  const events = bench.responses.flatMap(response => response.events)
  t.strictSame(
    events.map(({ previous }) => previous && String(Buffer.from(previous.value))),
    [undefined, '2'],
  )
})

t.test('what large events are split into says where it ends', async t => {
  const bench = new Bench()
  const operations = Array.from({ length: 6 }, (_, i) => {
    const key = keyFromText(`k${i}`)
    const put = { lease: 0n, previous: false, ignoreValue: false, ignoreLease: false }
    return {
      operation: { type: 'put' as const, value: { key, value: Buffer.alloc(600_000), ...put } },
    }
  })
  bench.watch({ fragment: true })
  const [member] = bench.engine.members
  member?.txn({ compare: [], success: operations, failure: [] }, () => undefined)
  const [, ...parts] = bench.responses
  t.strictSame(
    parts.map(({ fragment, events }) => [events.length, fragment]),
    [
      [3, true],
      [3, false],
    ],
  )
})
