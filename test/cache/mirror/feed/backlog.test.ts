import t from 'tap'
import { Backlog } from '../../../../lib/cache/mirror/feed/backlog.ts'
import { settle } from '../../../support/fake-clock.ts'

/** A backlog on a clock that its items move, and whose turns a test ends. */
function world(
  eachMs: number,
  steps = 1,
): {
  backlog: Backlog<number>
  taken: number[]
  held: boolean[]
  nextTurn: () => Promise<void>
} {
  let nowMs = 0
  let ends: (() => void)[] = []
  const taken: number[] = []
  const held: boolean[] = []
  const clock = {
    monotonicMs: () => nowMs,
    yield: () => new Promise<void>(resolve => ends.push(resolve)),
  }
  const backlog = new Backlog<number>({
    clock,
    sliceMaxMs: 3,
    *take(item) {
      for (let i = 0; i < steps; i++) {
        nowMs += eachMs
        taken.push(item)
        if (i < steps - 1) yield
      }
    },
    hold: isHeld => held.push(isHeld),
  })
  const nextTurn = (): Promise<void> => {
    const due = ends
    ends = []
    for (const end of due) end()
    return settle()
  }
  return { backlog, taken, held, nextTurn }
}

t.test('what comes at the usual rate is taken as it comes', async t => {
  const { backlog, taken, held, nextTurn } = world(2)
  for (let i = 0; i < 4; i++) {
    backlog.add(i)
    t.equal(taken.length, i + 1)
    await nextTurn()
  }
  t.strictSame(held, [])
})

t.test(
  'what is too much for a turn waits for later ones, in order, and holds the stream',
  async t => {
    const { backlog, taken, held, nextTurn } = world(1)
    for (let i = 0; i < 7; i++) backlog.add(i)
    t.strictSame(taken, [0, 1, 2], 'for 3 ms')
    t.strictSame(held, [true])
    await nextTurn()
    t.strictSame(taken, [0, 1, 2, 3, 4, 5])
    backlog.add(7)
    t.equal(taken.length, 6, 'it waits behind the others')
    await nextTurn()
    t.strictSame(taken, [0, 1, 2, 3, 4, 5, 6, 7])
    t.strictSame(held, [true, false])
    backlog.add(8)
    t.equal(taken.length, 9, 'the turn has time left')
  },
)

t.test('an item that takes long is taken in steps, and others wait behind it', async t => {
  const { backlog, taken, held, nextTurn } = world(1, 5)
  backlog.add(0)
  t.strictSame(taken, [0, 0, 0], 'for 3 ms')
  t.strictSame(held, [true])
  backlog.add(1)
  await nextTurn()
  t.strictSame(taken, [0, 0, 0, 0, 0, 1])
  await nextTurn()
  t.strictSame(taken, [0, 0, 0, 0, 0, 1, 1, 1, 1])
  await nextTurn()
  t.strictSame(taken, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
  t.strictSame(held, [true, false])
})

t.test('no step is taken after what waits was cleared', async t => {
  const { backlog, taken, held, nextTurn } = world(1, 5)
  backlog.add(0)
  backlog.clear()
  await nextTurn()
  t.strictSame(taken, [0, 0, 0])
  t.strictSame(held, [true, false])
})

t.test('nothing is taken after what waits was cleared', async t => {
  const { backlog, taken, held, nextTurn } = world(5)
  backlog.add(0)
  backlog.add(1)
  backlog.clear()
  await nextTurn()
  t.strictSame(taken, [0])
  t.strictSame(held, [true, false])
})
