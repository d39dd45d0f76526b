import t from 'tap'
import {
  defaultFairnessLimits,
  Fairness,
  type FairnessLimits,
} from '../../../../lib/cache/http/limits/fairness.ts'
import {
  type SharedRequest,
  takeTurn,
  type Turn,
} from '../../../../lib/cache/http/limits/fair-share.ts'
import { FakeClock, settle } from '../../../support/fake-clock.ts'
import { collector } from '../../../support/program/collector.ts'

const forever = new AbortController().signal

function setUp(limits: Partial<FairnessLimits> = {}): {
  clock: FakeClock
  fairness: Fairness
  limited: string[]
} {
  const clock = new FakeClock()
  const limited: string[] = []
  const metrics = { limited: (kind: string, bound: string) => limited.push(`${kind} ${bound}`) }
  const fairness = new Fairness({ clock, metrics, limits: { ...defaultFairnessLimits, ...limits } })
  return { clock, fairness, limited }
}

const tooMany = { code: 'overloaded', status: { code: 429, details: { retryAfterSeconds: 1 } } }

t.test('requests are bounded for each user, and in all', async t => {
  const { fairness, limited } = setUp({ requestsPerUser: 2, requestsMax: 3 })
  const leave = fairness.enter('a')
  fairness.enter('a')
  t.throws(() => fairness.enter('a'), tooMany)
  fairness.enter('b')
  t.throws(() => fairness.enter('c'), tooMany)
  leave()
  leave()
  t.throws(() => {
    fairness.enter('c')
    fairness.enter('c')
  }, tooMany)
  t.strictSame(limited, ['small user', 'small all', 'small all'])
})

t.test('bytes are bounded, and what is larger than any bound is held alone', async t => {
  const { fairness } = setUp({ bytesPerUser: 100, bytesMax: 150 })
  const free = fairness.hold('a', 1_000, 'small')
  t.throws(() => fairness.hold('a', 1, 'small'), tooMany)
  t.throws(() => fairness.hold('b', 1, 'small'), tooMany)
  free()
  fairness.hold('a', 100, 'small')
  t.throws(() => fairness.hold('a', 1, 'list'), tooMany)
  fairness.hold('b', 50, 'small')
})

t.test('open watches and their selectors are bounded, and given back together', async t => {
  const limits = { watchesPerUser: 3, watchesMax: 5, selectorBytesPerUser: 100 }
  const { fairness, limited } = setUp({ ...limits, selectorBytesMax: 150 })
  const leave = fairness.watch({ user: 'a', selectorBytes: 60 })
  t.throws(() => fairness.watch({ user: 'a', selectorBytes: 60 }), tooMany)
  t.ok(fairness.isCrowded('a'), 'it matters who they are')
  const others = [1, 2].map(() => fairness.watch({ user: 'a', selectorBytes: 0 }))
  t.throws(() => fairness.watch({ user: 'a', selectorBytes: 0 }), tooMany, 'three of a user')
  t.throws(() => fairness.watch({ user: 'b', selectorBytes: 99 }), tooMany, 'bytes of all')
  others.push(fairness.watch({ user: undefined, selectorBytes: 0 }))
  others.push(fairness.watch({ user: 'b', selectorBytes: 0 }))
  t.throws(() => fairness.watch({ user: 'c', selectorBytes: 0 }), tooMany, 'five in all')
  for (const end of [leave, leave, ...others]) end()
  fairness.watch({ user: 'a', selectorBytes: 100 })
  t.strictSame(limited, ['watch user', 'watch user', 'watch all', 'watch all'])
})

t.test('the watches of 5,000 nodes are let in, but no user has a third of all', async t => {
  const { fairness } = setUp()
  const [nodes, selectorBytes] = [5_000, 160]
  for (let node = 0; node < nodes; node++) {
    for (let i = 0; i < 14; i++) fairness.watch({ user: `system:node:${node}`, selectorBytes: 80 })
    for (let i = 0; i < 4; i++) fairness.watch({ user: 'kube-proxy', selectorBytes })
  }
  const more = (): void => {
    for (;;) fairness.watch({ user: 'kube-proxy', selectorBytes: 0 })
  }
  t.throws(more, tooMany)
  fairness.watch({ user: 'another', selectorBytes })
})

t.test('what passes is bounded by its kind', async t => {
  const bounds = { short: 2, long: 1, upgrade: 1 }
  const { fairness } = setUp({ passedPerUser: bounds, passedMax: { ...bounds, short: 3 } })
  const leave = fairness.pass('a', 'short')
  fairness.pass('a', 'short')
  t.throws(() => fairness.pass('a', 'short'), tooMany)
  fairness.pass('b', 'short')
  t.throws(() => fairness.pass('c', 'short'), tooMany)
  fairness.pass('c', 'long')
  t.throws(() => fairness.pass('d', 'long'), tooMany)
  fairness.pass('c', 'upgrade')
  leave()
  fairness.pass('c', 'short')
})

t.test('users take turns at places, however many of one wait', async t => {
  const { fairness } = setUp({ placesPerUser: 2, placesMax: 3 })
  const order: string[] = []
  const places: (() => void)[] = []
  const take = async (user: string): Promise<void> => {
    const place = await fairness.place('list', user, forever)
    order.push(user)
    places.push(place)
  }
  for (let i = 0; i < 5; i++) void take('a')
  for (const user of ['b', 'b', 'c']) void take(user)
  await settle()
  t.strictSame(order, ['a', 'a', 'b'])
  while (places.length > 0) {
    places.shift()!()
    await settle()
  }
  t.strictSame(order, ['a', 'a', 'b', 'a', 'b', 'c', 'a', 'a'])
  void take('a')
  await settle()
  t.equal(order.length, 9)
})

t.test('who waits too long, or behind too many, is told to come again', async t => {
  const { clock, fairness, limited } = setUp({
    placesPerUser: 1,
    waitingPerUser: 1,
    waitMaxMs: 4_000,
  })
  const place = await fairness.place('list', 'a', forever)
  const waiting = t.rejects(fairness.place('list', 'a', forever), tooMany)
  await t.rejects(fairness.place('list', 'a', forever), tooMany)
  await clock.advance(4_000)
  await waiting
  t.strictSame(limited, ['list user', 'list user'])
  place()
  ;(await fairness.place('list', 'a', forever))()
  t.equal(clock.pendingTimers, 0)
})

t.test('a slow reader gives its place up', async t => {
  const { clock, fairness } = setUp({ placesPerUser: 1 })
  const place = await fairness.place('watch', 'a', forever)
  const second = fairness.place('watch', 'a', forever)
  await clock.advance(5_000)
  const free = await second
  place()
  const third = fairness.place('watch', 'a', forever)
  let isThird = false
  void third.then(() => (isThird = true))
  await settle()
  t.notOk(isThird, 'a place is given back once')
  free()
  await third
})

t.test('who leaves the line leaves nothing behind', async t => {
  const { clock, fairness } = setUp({ placesPerUser: 1, placesMax: 1 })
  const place = await fairness.place('list', 'a', forever)
  const left = new AbortController()
  const waiting = t.rejects(fairness.place('list', 'b', left.signal), /gone/)
  left.abort(new Error('gone'))
  await waiting
  await t.rejects(fairness.place('list', 'b', left.signal), /gone/)
  place()
  ;(await fairness.place('list', 'c', forever))()
  t.equal(clock.pendingTimers, 0)
})

t.test('who is not let into the line leaves nothing behind either', async t => {
  const { fairness } = setUp({ placesMax: 1, waitingMax: 0 })
  const place = await fairness.place('list', 'a', forever)
  const collect = collector()
  collect()
  const { heapUsed } = process.memoryUsage()
  for (let i = 0; i < 20_000; i++) {
    const user = Buffer.alloc(1000, `${i} `).toString()
    await fairness.place('list', user, forever).catch(() => undefined)
  }
  collect()
  const grown = (process.memoryUsage().heapUsed - heapUsed) / 2 ** 20
  t.ok(grown < 8, `grown by ${grown} MiB`)
  place()
  ;(await fairness.place('list', 'b', forever))()
})

t.test('several whole lists leave half of the time to those who ask for little', async t => {
  const { clock, fairness } = setUp()
  const isQuick = async (user: string, workedMs: number): Promise<boolean> => {
    let isDone = false
    void fairness.pace(user, workedMs).then(() => (isDone = true))
    await settle()
    return isDone
  }
  for (let i = 0; i < 2; i++) await fairness.place('list', 'a', forever)
  fairness.noteSmall('b')
  t.ok(await isQuick('a', 4), 'two lists give way by themselves')
  await fairness.place('list', 'a', forever)
  t.notOk(await isQuick('a', 3))
  await clock.advance(1)
  const startMs = clock.monotonicMs()
  const slices = Promise.all([3, 3, 3].map(workedMs => fairness.pace('a', workedMs)))
  await clock.advance(20)
  await slices
  let endMs = 0
  void fairness.pace('a', 1).then(() => (endMs = clock.monotonicMs()))
  await clock.advance(10)
  t.ok(endMs - startMs >= 6 * 3 - 1, 'slices together are six apart')
  await clock.advance(50)
  t.ok(await isQuick('a', 4), 'nobody has asked for a while')
  fairness.noteSmall('a')
  t.ok(await isQuick('a', 4), 'it is nobody else')
  fairness.noteSmall('b')
  fairness.noteSmall('a')
  t.notOk(await isQuick('a', 4), 'somebody else has asked before')
})

t.test('small lists of a user who does not read take places', async t => {
  const { fairness, clock } = setUp()
  const request = (user: string): SharedRequest & { readonly signal: AbortSignal } => ({
    grant: { user: () => user, learnName: () => {} },
    request: { peer: { address: '' } as never, onClose: () => () => {} },
    signal: forever,
  })
  const page = {
    plan: { type: 'list', limit: 500, labels: { isEmpty: true }, fields: { isEmpty: true } },
    snapshot: {},
  } as never
  const begun: Turn[] = []
  const begin = (user: string): void =>
    void takeTurn(request(user), { fairness, clock }, page).then(turn => begun.push(turn))
  for (let i = 0; i < 10; i++) begin('slow')
  await settle()
  t.equal(begun.length, 10)
  const free = Array.from({ length: 9 }, () => fairness.hold('slow', 1024 * 1024, 'list'))
  for (let i = 0; i < 20; i++) begin('slow')
  begin('other')
  await settle()
  t.equal(begun.length, 27, 'sixteen of the user, and those of others')
  for (const one of free) one()
  begin('slow')
  await settle()
  t.equal(begun.length, 27, 'nobody passes those that wait')
  for (const turn of begun.slice(10)) turn.end()
  await settle()
  t.equal(begun.length, 32, 'who goes on when these are over')
  begin('slow')
  await settle()
  t.equal(begun.length, 33, 'what was read does not count')
})
