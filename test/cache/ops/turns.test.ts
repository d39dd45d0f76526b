import t from 'tap'
import { Turns } from '../../../lib/cache/ops/turns.ts'

/** Turns on a clock that a test moves, and how often the loop has been round. */
function world(): { turns: Turns; work: (ms: number) => void; rounds: () => number } {
  let nowMs = 0
  let rounds = 0
  const count = (): void => {
    rounds++
    setImmediate(count).unref()
  }
  setImmediate(count).unref()
  return { turns: new Turns(() => nowMs), work: ms => (nowMs += ms), rounds: () => rounds }
}

t.test('everybody has a slice before somebody has a second one', async t => {
  const { turns, work } = world()
  const log: string[] = []
  const task = async (name: string): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await turns.next()
      work(3)
      log.push(`${name}${i}`)
    }
  }
  await Promise.all(['a', 'b', 'c'].map(task))
  t.strictSame(log, ['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
})

t.test(
  'long slices leave the loop to others after two of them, short ones share a round',
  async t => {
    const { turns, work, rounds } = world()
    const longest = async (count: number, ms: number): Promise<number> => {
      const before = rounds()
      await Promise.all(
        Array.from({ length: count }, async () => {
          await turns.next()
          // However many promises a slice goes through, it is still the same slice.
          for (let i = 0; i < 5; i++) await Promise.resolve()
          work(ms)
        }),
      )
      return rounds() - before
    }
    t.ok((await longest(1_000, 3)) >= 499)
    t.ok((await longest(1_000, 0.001)) <= 3)
  },
)

t.test('who goes first waits for no line, and does not stop the line either', async t => {
  const { turns, work, rounds } = world()
  const log: string[] = []
  const before = rounds()
  const line = Array.from({ length: 100 }, async (_, i) => {
    await turns.next()
    work(3)
    log.push(`line ${i}`)
  })
  const first = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) {
      await turns.next('first')
      // More than a whole turn.
      work(5)
      log.push(`first ${i}`)
    }
  }
  await first()
  const others = log.filter(entry => entry.startsWith('line'))
  t.strictSame(
    log.filter(entry => entry.startsWith('first')),
    Array.from({ length: 10 }, (_, i) => `first ${i}`),
  )
  t.ok(others.length >= 9 && others.length <= 12, 'one of the line for each that goes first')
  t.ok(rounds() - before >= 9, 'and the loop goes round each time')
  await Promise.all(line)
  t.strictSame(
    log.filter(entry => entry.startsWith('line')),
    Array.from({ length: 100 }, (_, i) => `line ${i}`),
  )
})

t.test('who works alone still lets the loop go round between two slices', async t => {
  const { turns, rounds } = world()
  const before = rounds()
  for (let i = 0; i < 10; i++) await turns.next()
  t.ok(rounds() - before >= 9)
})

t.test('of what begins two need not wait in a turn, and the others have slices', async t => {
  const { turns, rounds } = world()
  await new Promise(setImmediate)
  const before = rounds()
  await Promise.all([turns.next('soon'), turns.next('soon')])
  t.equal(rounds(), before)
  await turns.next('soon')
  t.ok(rounds() > before)
  await new Promise(setImmediate)
  const later = rounds()
  await turns.next('soon')
  t.equal(rounds(), later, 'and two in the next turn')
})

t.test('who begins waits for those who came before, and for no long work', async t => {
  const { turns, work } = world()
  const log: string[] = []
  const longWork = async (name: string): Promise<void> => {
    for (let i = 0; i < 5; i++) {
      await turns.next()
      work(3)
      log.push(name)
    }
  }
  /** Comes again as soon as it was answered, as a client does. */
  const client = async (name: string): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await new Promise(resolve => setImmediate(resolve))
      await turns.next('soon')
      work(2)
      log.push(`${name}${String(i)}`)
    }
  }
  const names = Array.from({ length: 20 }, (_, i) => `client ${String(i)}, `)
  await Promise.all([...names.map(client), ...['long a', 'long b'].map(longWork)])
  const begun = log.filter(entry => entry.startsWith('client'))
  const first = begun.slice(0, 20)
  t.ok(
    first.every(entry => entry.endsWith('0')),
    'nobody has a second turn before all had one',
  )
  t.ok(log.indexOf('long b') < 8, 'nor does long work stop')
})
