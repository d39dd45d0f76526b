import t from 'tap'
import type { Clock } from '../../../../lib/base/clock.ts'
import { Outbox, type FrameSender } from '../../../../lib/cache/http/watch/outbox.ts'
import { collector } from '../../../support/program/collector.ts'
import { FakeClock, settle } from '../../../support/fake-clock.ts'

/** An outbox on a clock that flushing moves on, and senders that write their names down. */
class World {
  readonly time: FakeClock = new FakeClock(0)
  readonly log: string[] = []
  /** Length of the log whenever the outbox gave way. */
  readonly turns: number[] = []
  readonly outbox: Outbox
  #workedMs = 0

  constructor() {
    const clock: Clock = {
      wallMs: () => 0,
      monotonicMs: () => this.time.monotonicMs() + this.#workedMs,
      setTimer: (delayMs, task) => this.time.setTimer(delayMs, task),
      yield: () => {
        this.turns.push(this.log.length)
        return Promise.resolve()
      },
    }
    this.outbox = new Outbox(clock)
  }

  sender(name: string, ms: number, bytes = 0): FrameSender {
    const flush = (): number => {
      this.log.push(name)
      this.#workedMs += ms
      return bytes
    }
    return { flush }
  }

  /** Lines that have been written since it was last asked. */
  async written(): Promise<string[]> {
    await settle()
    return this.log.splice(0)
  }
}

/** A world that rests after a round of so long, with its sender due again. */
async function resting(roundMs: number): Promise<{ world: World; a: FrameSender }> {
  const world = new World()
  const a = world.sender('a', roundMs)
  world.outbox.add(a)
  await world.written()
  world.outbox.add(a)
  return { world, a }
}

t.test('what comes after a round that took a while goes out together, after as long', async t => {
  const world = new World()
  const [a, b] = [world.sender('a', 2), world.sender('b', 0)]
  world.outbox.add(a)
  t.strictSame(await world.written(), ['a'], 'the first goes at once')
  world.outbox.add(a)
  await world.time.advance(1)
  world.outbox.add(b)
  t.strictSame(await world.written(), [], 'the next waits')
  await world.time.advance(1)
  t.strictSame(await world.written(), ['a', 'b'])
})

t.test('a short round is no reason to wait', async t => {
  const world = new World()
  const a = world.sender('a', 0.4)
  for (let i = 0; i < 3; i++) {
    world.outbox.add(a)
    t.strictSame(await world.written(), ['a'])
  }
  t.equal(world.time.pendingTimers, 0)
})

t.test('nobody waits longer than for 4 ms, however long a round took', async t => {
  const { world } = await resting(100)
  await world.time.advance(3.9)
  t.strictSame(await world.written(), [])
  await world.time.advance(0.1)
  t.strictSame(await world.written(), ['a'])
})

t.test('who can take no more ends the rest', async t => {
  const { world, a } = await resting(2)
  world.outbox.hurry()
  t.strictSame(await world.written(), ['a'])
  world.outbox.add(a)
  t.strictSame(await world.written(), [], 'once')
  await world.time.advance(2)
  t.strictSame(await world.written(), ['a'])
  await world.time.advance(10)
  t.equal(world.time.pendingTimers, 0)
})

t.test('no more than half a MiB or so is handed over in one turn of the event loop', async t => {
  const world = new World()
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    world.outbox.add(world.sender(name, 0, 300 * 1024))
  }
  t.strictSame(await world.written(), ['a', 'b', 'c', 'd', 'e'])
  t.strictSame(world.turns, [0, 2, 4, 5])
})

t.test('what was joined grows old in no map that is emptied for ever', async t => {
  const collect = collector()
  const world = new World()
  const flush = (): number => {
    for (let i = 0; i < 16; i++) {
      world.outbox.join([Buffer.allocUnsafeSlow(64 * 1024), Buffer.alloc(1)])
    }
    return 0
  }
  world.outbox.add({ flush })
  await settle()
  // The outbox and what it holds are old from here on.
  collect()
  collect()
  const before = process.memoryUsage().arrayBuffers
  for (let round = 0; round < 16; round++) {
    world.outbox.add({ flush })
    await settle()
    collect({ type: 'minor' })
    collect({ type: 'minor' })
  }
  const keptMiB = (process.memoryUsage().arrayBuffers - before) / 1024 ** 2
  t.ok(keptMiB < 4, `${keptMiB.toFixed(1)} MiB of 32 are kept`)
})
