import t from 'tap'
import { StreamLimits } from '../../../../lib/cache/http/server/stream-limits.ts'
import { noteAccepted } from '../../../../lib/cache/http/server/accepted.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

/** A response as the limits see it: its headers are sent, and so many bytes wait for the client. */
function streamOf(writableLength: number): {
  headersSent: boolean
  writableLength: number
  writableFinished: boolean
  rstCode: number
} {
  return { headersSent: true, writableLength, writableFinished: false, rstCode: 0 }
}

/** A connection, and the limits that it was told. */
class Connection {
  readonly told: number[] = []
  readonly session = {
    limitStreams: (maxConcurrentStreams: number) => void this.told.push(maxConcurrentStreams),
    destroyed: false,
    closed: false,
  }
  readonly begin: (stream: ReturnType<typeof streamOf>) => () => void

  constructor(limits: StreamLimits, isKnown = true) {
    if (isKnown) noteAccepted(this.session)
    this.begin = limits.open(this.session)
  }

  beginMany(count: number, writableLength = 0): (() => void)[] {
    return Array.from({ length: count }, () => this.begin(streamOf(writableLength)))
  }
}

t.test('a connection may have four times as many streams once half of them are taken', async t => {
  const clock = new FakeClock()
  const limits = new StreamLimits(clock)
  t.equal(limits.begin(false), 100)
  const one = new Connection(limits)
  one.beginMany(49)
  await clock.advance(1_000)
  t.equal(clock.pendingTimers, 0, 'nobody looks at connections that need no more')
  one.beginMany(51)
  await clock.advance(50)
  one.beginMany(300)
  await clock.advance(1_000)
  t.strictSame(one.told, [400, 1_600])
  one.beginMany(1_200)
  await clock.advance(1_000)
  t.strictSame(one.told, [400, 1_600, 2_000])
  t.equal(clock.pendingTimers, 0)
})

t.test('what is blocked, reset or not answered counts for nothing', async t => {
  const clock = new FakeClock()
  const limits = new StreamLimits(clock)
  t.equal(limits.begin(true), 8, 'fewer while many connections come')
  const [blocked, reset, silent, stranger] = [true, true, true, false].map(
    isKnown => new Connection(limits, isKnown),
  )
  blocked?.beginMany(8, 1)
  for (let i = 0; i < 20; i++) {
    const streams = Array.from({ length: 8 }, () => streamOf(1))
    const ends = streams.map(stream => reset?.begin(stream))
    for (const stream of streams) Object.assign(stream, { rstCode: 8, writableFinished: true })
    if (i < 19) for (const end of ends) end?.()
  }
  for (let i = 0; i < 8; i++) silent?.begin({ ...streamOf(0), headersSent: false })
  stranger?.beginMany(8)
  await clock.advance(1_000)
  t.strictSame(
    [blocked, reset, silent, stranger].map(one => one?.told),
    [[], [], [], []],
  )
  t.equal(clock.pendingTimers, 1)
  blocked?.begin(streamOf(0))
  for (const one of [blocked, reset, silent, stranger]) if (one) one.session.destroyed = true
  await clock.advance(100)
  t.equal(clock.pendingTimers, 0, 'what is closed is left alone')
})

t.test('responses that have ended count as taken', async t => {
  const clock = new FakeClock()
  const limits = new StreamLimits(clock)
  limits.begin(true)
  const one = new Connection(limits)
  for (let i = 0; i < 4; i++) {
    const stream = streamOf(0)
    const end = one.begin(stream)
    stream.writableFinished = true
    end()
  }
  one.beginMany(4, 1)
  await clock.advance(50)
  t.strictSame(one.told, [32])
})
