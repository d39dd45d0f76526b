import { silentLogger } from '../../../support/silent-logger.ts'
import t from 'tap'
import { schemaOf } from '../../../../lib/codec/schema/schema.ts'
import type { Clock } from '../../../../lib/base/clock.ts'
import { ObjectEncoder } from '../../../../lib/codec/output/object-encoder.ts'
import type { Segment } from '../../../../lib/codec/output/segments.ts'
import { answerMaxMs, slowReaderTimeoutMs } from '../../../../lib/cache/http/server/respond.ts'
import { answerWatch, type WatchServices } from '../../../../lib/cache/http/watch/answer-watch.ts'
import type { RequestContext } from '../../../../lib/cache/http/request/request-context.ts'
import type { MakeReader } from '../../../../lib/kube/selectors/filter.ts'
import { parseTarget } from '../../../../lib/kube/request/request.ts'
import { planRead, type WatchPlan } from '../../../../lib/kube/read-plan.ts'
import { Turns } from '../../../../lib/cache/ops/turns.ts'
import { SegmentCache } from '../../../../lib/store/segments.ts'
import { collector } from '../../../support/program/collector.ts'
import { FakeClock, settle } from '../../../support/fake-clock.ts'
import { builtIn } from '../../../support/kube/kube-builders.ts'
import { configMaps, shownAs } from '../../../support/kube/outputs.ts'
import { ScriptedRequest } from '../../../support/http/scripted-request.ts'
import { put, told, WatchWorld } from '../../../support/watch/watch-world.ts'

/** A clock on which a write takes a millisecond, and nothing else takes any time. */
class WorkClock implements Clock {
  nowMs = 0
  readonly #turns = new Turns(() => this.nowMs)

  wallMs(): number {
    return this.nowMs
  }
  monotonicMs(): number {
    return this.nowMs
  }
  setTimer(): () => void {
    return () => {}
  }
  yield(): Promise<void> {
    return this.#turns.next()
  }
}

interface Written {
  readonly by: string
  readonly round: number
}

/** A request that says when it is written to. */
class NotedRequest extends ScriptedRequest {
  readonly #note: () => void

  constructor(note: () => void) {
    super()
    this.#note = note
  }
  override write(piece: Uint8Array): boolean {
    this.#note()
    return super.write(piece)
  }
}

/** Who wrote when, where a round is a turn of the event loop. */
class Log {
  readonly clock = new WorkClock()
  readonly written: Written[] = []
  round = 0

  request(by: string): ScriptedRequest {
    return new NotedRequest(() => {
      this.clock.nowMs++
      this.written.push({ by, round: this.round })
    })
  }

  /** Lets the loop go round until nothing is written any more. */
  async settle(each: (round: number) => Promise<void> = () => Promise.resolve()): Promise<void> {
    for (let idle = 0; idle < 5; this.round++) {
      const before = this.written.length
      await settle()
      idle = this.written.length === before ? idle + 1 : 0
      await each(this.round)
    }
  }
}

const streaming =
  'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'

/** The special ways to open a streaming list. */
interface Special {
  readonly query?: string
  readonly makeReader?: MakeReader
  readonly upstream?: object
  readonly clock?: Clock
}

/** Opens a streaming list, as a request that has been understood and has waited for its
 *  snapshot. */
function stream(
  world: WatchWorld,
  request: ScriptedRequest,
  log: Log,
  { query: more = '', makeReader, upstream, clock = log.clock }: Special = {},
): void {
  const resource = builtIn('configmaps')
  const { query } = parseTarget(`/api/v1/configmaps?${streaming}${more}`)!
  const scope = { verb: 'list', namespace: '', name: '' } as const
  const route = { type: 'resource', schema: schemaOf(), resource, ...scope } as const
  const plan = planRead(route as never, query) as WatchPlan
  const { watches } = world
  const context = {
    state: {
      makeReader: makeReader ?? (() => undefined),
      encoderOf: () => new ObjectEncoder(configMaps, undefined),
    },
    request,
    target: { query },
    reply: { response: () => ({ status: 200, headers: {} }) },
    signal: new AbortController().signal,
  }
  const answer = {
    plan,
    snapshot: world.store.latest(),
    mediaType: { ...shownAs(), isPretty: false, unknownParameters: [] },
    pace: clock,
  }
  const services = {
    watches,
    clock,
    logger: silentLogger,
    segments: new SegmentCache<Segment>(1e9),
    ...(upstream === undefined ? {} : { upstream }),
  }
  void answerWatch(context as unknown as RequestContext, answer, services as WatchServices)
}

t.test('a client that reads the beginning of a watch for ever is cut off in the end', async t => {
  const world = new WatchWorld()
  for (let at = 1; at <= 2_000; at++) world.store.apply(at as never, [put(at, `m${at}`)], 0)
  const clock = new FakeClock()
  const request = new ScriptedRequest()
  request.isFull = true
  stream(world, request, new Log(), { clock })
  const everyMs = slowReaderTimeoutMs - 1_000
  for (let ms = 0; ms < answerMaxMs; ms += everyMs) {
    await clock.advance(everyMs)
    t.notOk(request.isClosed && ms + everyMs < answerMaxMs, 'not before its time')
    request.emit('drain')
  }
  await clock.advance(everyMs)
  t.ok(request.isClosed)
})

t.test('watches that begin at once take turns, and nobody waits for them', async t => {
  const world = new WatchWorld()
  const log = new Log()
  for (let at = 1; at <= 2_000; at++) {
    world.store.apply(at as never, [put(at, `m${String(at).padStart(4, '0')}`)], 0)
  }
  const leaves = [...world.store.latest().leaves({ start: '' as never, end: undefined })].length
  t.ok(leaves >= 20)
  const bystander = new ScriptedRequest()
  await world.open({}, {}, bystander)
  const names = Array.from({ length: 50 }, (_, i) => `s${i}`)
  const requests = names.map(name => log.request(name))
  for (const request of requests) stream(world, request, log)
  let at = 2_000
  await log.settle(async round => {
    if (at >= 2_020 || round % 5 !== 0) return
    await world.put(++at, 'm0001')
    t.equal(told(bystander).length, at - 2_000, 'what changes meanwhile is told at once')
  })

  for (const request of requests) {
    const events = told(request)
    t.strictSame(
      new Set(events.slice(0, 2_000).map(event => event.slice(0, 5))),
      new Set(['ADDED']),
    )
    t.equal(events[2_000], 'BOOKMARK @2000', 'the snapshot that all began with')
    t.strictSame(events.slice(2_001), told(bystander), 'and then everything that came since')
  }

  const perRound = new Map<number, number>()
  for (const { round } of log.written) perRound.set(round, (perRound.get(round) ?? 0) + 1)
  t.ok(Math.max(...perRound.values()) <= 9, 'no turn of the loop is held for 10 ms')
  const firstEnd = log.written.findIndex(
    ({ by }, i) => log.written.slice(0, i + 1).filter(one => one.by === by).length === leaves,
  )
  const begun = new Set(log.written.slice(0, firstEnd).map(({ by }) => by))
  t.equal(begun.size, names.length, 'all have begun before the first is through')
})

t.test('a selection of few among many objects is looked for once, and gives way', async t => {
  const world = new WatchWorld()
  const log = new Log()
  const count = 3_000
  for (let at = 1; at <= count; at++) {
    world.store.apply(at as never, [put(at, `m${String(at).padStart(4, '0')}`)], 0)
  }
  const reads: number[] = []
  const makeReader: MakeReader = () => ({
    read: () => {
      reads.push(log.round)
      log.clock.nowMs += 0.02
      return undefined
    },
    label: () => (reads.length % count === 2_900 ? 'b' : undefined),
    eachLabel: take => take('a'),
    field: () => '',
  })
  const upstream = { objectionToWatch: () => undefined, gateOf: () => undefined }
  const request = log.request('one')
  stream(world, request, log, { query: '&labelSelector=a%3Db', makeReader, upstream })
  for (let i = 0; i < 10; i++) await log.settle()
  t.strictSame(told(request), ['ADDED m2900@2900', `BOOKMARK @${count}`])
  t.equal(reads.length, count, 'to check it and to send it')
  const perRound = new Map<number, number>()
  for (const round of reads) perRound.set(round, (perRound.get(round) ?? 0) + 1)
  t.ok(Math.max(...perRound.values()) <= 500, 'no turn of the loop is held for 10 ms')
})

t.test('who does not read holds up nobody', async t => {
  const world = new WatchWorld()
  const log = new Log()
  for (let at = 1; at <= 500; at++) world.store.apply(at as never, [put(at, `m${at}`)], 0)
  const slow = log.request('slow')
  slow.isFull = true
  stream(world, slow, log)
  const quick = Array.from({ length: 10 }, (_, i) => log.request(`q${i}`))
  for (const request of quick) stream(world, request, log)
  await log.settle()
  t.ok(quick.every(request => told(request).length === 501))
  t.ok(told(slow).length < 150)
  t.equal(slow.written.length, 1)
  for (let i = 0; i < 20; i++) {
    slow.drain()
    await log.settle()
  }
  t.equal(told(slow).length, 501)
})

t.test('an open watch does not keep the state alive that it began with', async t => {
  const collect = collector()
  const world = new WatchWorld({ maxBatches: 5 })
  const log = new Log()
  for (let at = 1; at <= 20; at++) world.store.apply(at as never, [put(at, 'same')], 0)
  const request = log.request('one')
  stream(world, request, log)
  await log.settle()
  const state = new WeakRef(world.store.latest())
  for (let at = 21; at <= 40; at++) await world.put(at, 'same')
  await settle()
  collect()
  t.equal(state.deref(), undefined)
  t.equal(told(request).length, 22)
  t.equal(world.watches.size, 1)
})
