/** The law of arrivals: first come, first begun; connections take turns; strangers have what their
 *  purse allows, and then a part. */

import t from 'tap'
import { noteAccepted } from '../../../../lib/cache/http/server/accepted.ts'
import { Arrivals } from '../../../../lib/cache/http/server/arrivals.ts'
import { settle } from '../../../support/fake-clock.ts'

/** A connection that says whether it is read. */
interface Connection {
  readonly session: object
  isRead: boolean
}

/** Arrivals on a clock that moves by what tasks take, and what has begun. */
class Stage {
  nowMs = 0
  readonly begun: string[] = []
  readonly arrivals = new Arrivals({ monotonicMs: () => this.nowMs })

  connect(isKnown = true): Connection {
    const handle = {
      readStart: () => void (connection.isRead = true),
      readStop: () => void (connection.isRead = false),
    }
    const session = {}
    const connection: Connection = { session, isRead: true }
    if (isKnown) noteAccepted(session)
    this.arrivals.add(session, handle)
    return connection
  }

  request({ session }: Connection, name: string, tookMs = 0): void {
    this.arrivals.request(session, this.#task(name, tookMs))
  }

  open(kind: 'handshake' | 'session', address: string, name: string, tookMs = 0): void {
    this.arrivals[kind](address, this.#task(name, tookMs))
  }

  read({ session }: Connection, streams: number, headerBytes = 100): void {
    for (let i = 0; i < streams; i++) this.arrivals.read(session, headerBytes)
  }

  /** Strangers have taken all that they may. */
  async emptyPurse(): Promise<void> {
    let further = 10
    while (further > 0) {
      this.open('session', 'flood', '')
      while (this.arrivals.waiting > 0) await settle()
      if (this.arrivals.isCrowded) further--
    }
    await settle()
    this.since()
  }

  /** Requests that have begun since it was last asked. */
  since(): string {
    return this.begun.splice(0).join(' ')
  }

  #task(name: string, tookMs: number): () => void {
    return () => {
      this.begun.push(name)
      this.nowMs += tookMs
    }
  }
}

t.test('ordinary clients begin as they are read, also a thousand of them', async t => {
  const stage = new Stage()
  const expected = Array.from({ length: 1_000 }, (_, i) => `${i}`)
  for (const name of expected) {
    const connection = stage.connect()
    stage.read(connection, 1)
    stage.request(connection, name)
    t.ok(connection.isRead)
  }
  t.equal(stage.since(), expected.join(' '))
  t.equal(stage.arrivals.waiting, 0)
})

t.test('of a connection that sends many requests, some wait: connections take turns', async t => {
  const stage = new Stage()
  const [a, b] = [stage.connect(), stage.connect()]
  for (let i = 1; i <= 19; i++) stage.request(a, `a${i}`)
  t.equal(stage.since().split(' ').length, 16)
  for (let i = 1; i <= 4; i++) stage.request(b, `b${i}`)
  t.equal(stage.since(), 'b1', 'who has had nothing in the turn need not wait for who has had much')
  await settle()
  t.equal(stage.since(), 'a17 b2 a18 b3 a19 b4')
})

t.test('requests that have waited leave time in the turn for those who come then', async t => {
  const stage = new Stage()
  const [many, late, last] = [stage.connect(), stage.connect(), stage.connect()]
  for (let i = 1; i <= 9; i++) stage.request(many, `m${i}`, 1.1)
  t.equal(stage.since(), 'm1 m2 m3 m4')
  stage.request(late, 'l1')
  await settle()
  t.equal(stage.since(), 'l1 m5 m6', 'whoever has had nothing is first')
  await settle()
  t.equal(stage.since(), 'm7 m8')
  stage.request(last, 'e1')
  t.equal(stage.since(), 'e1')
})

t.test('what does not fit into a turn of 4 ms begins in the next, in its order', async t => {
  const stage = new Stage()
  for (let i = 1; i <= 9; i++) stage.request(stage.connect(), `${i}`, 1.5)
  t.equal(stage.since(), '1 2 3')
  await settle()
  t.equal(stage.since(), '4 5 6')
  await settle()
  t.equal(stage.since(), '7 8 9')
})

t.test('strangers are served like everybody else as long as their purse lasts', async t => {
  const stage = new Stage()
  for (let i = 1; i <= 3; i++) stage.request(stage.connect(i % 2 === 0), `${i}`, 1)
  t.equal(stage.since(), '1 2 3')
  await settle()
  for (let i = 1; i <= 20; i++) stage.open('handshake', 'a', `h${i}`, 0.1)
  t.equal(stage.since().split(' ').length, 20)
})

t.test('new connections and requests that wait take turns', async t => {
  const stage = new Stage()
  stage.request(stage.connect(), 'long', 6)
  for (let i = 1; i <= 3; i++) {
    stage.request(stage.connect(), `r${i}`)
    stage.open('handshake', 'a', `h${i}`)
    stage.open('session', 'a', `s${i}`)
  }
  stage.since()
  await settle()
  const begun = stage.since().split(' ')
  t.equal(begun.length, 9)
  t.strictSame(begun.slice(0, 4).toSorted(), ['r1', 'r2', 's1', 's2'], 'half of it requests')
})

t.test(
  'with an empty purse known clients go first, and strangers have a part of each turn',
  async t => {
    const stage = new Stage()
    await stage.emptyPurse()
    await settle()
    for (let i = 1; i <= 4; i++) stage.request(stage.connect(false), `s${i}`, 0.5)
    for (let i = 1; i <= 6; i++) stage.request(stage.connect(), `k${i}`, 1.5)
    t.equal(stage.since(), 's1 s2 k1 k2')
    await settle()
    t.equal(stage.since(), 'k3 k4 k5 s3')
    await settle()
    t.equal(stage.since(), 'k6 s4')
  },
)

t.test(
  'with an empty purse a handshake begins in each long turn, and addresses take turns',
  async t => {
    const stage = new Stage()
    await stage.emptyPurse()
    for (const name of ['a1', 'a2', 'a3', 'b1']) stage.open('handshake', name.slice(0, 1), name, 1)
    const begun: string[] = []
    for (let i = 0; i < 4; i++) {
      begun.push(stage.since())
      await settle()
    }
    t.strictSame(begun, ['a1', 'a2', 'b1', 'a3'])
  },
)

t.test('the purse fills again, and nobody is in debt for long', async t => {
  const stage = new Stage()
  await stage.emptyPurse()
  stage.nowMs += 100
  t.notOk(stage.arrivals.isCrowded)
  await stage.emptyPurse()
  for (let i = 0; i < 1_000; i++) stage.open('session', 'flood', '')
  while (stage.arrivals.waiting > 0) await settle()
  t.ok(stage.arrivals.isCrowded)
  stage.nowMs += 2_100
  t.notOk(stage.arrivals.isCrowded)
})

t.test(
  'the longer a turn lasts, the fewer streams may a connection send that is still read',
  async t => {
    const stage = new Stage()
    const all = [1, 8, 9, 64, 65].map(streams => ({ streams, connection: stage.connect() }))
    for (const { streams, connection } of all) stage.read(connection, streams)
    await settle()
    const light = stage.connect()
    const readAfter = (ms: number): number[] => {
      stage.nowMs += ms
      stage.read(light, 1)
      return all.filter(({ connection }) => connection.isRead).map(({ streams }) => streams)
    }
    t.strictSame(readAfter(0), [1, 8, 9, 64, 65])
    t.strictSame(readAfter(1), [1, 8, 9, 64])
    t.strictSame(readAfter(4), [1, 8, 9, 64])
    t.strictSame(readAfter(1), [1, 8])
    await settle()
    t.strictSame(readAfter(0), [1, 8, 9, 64, 65], 'all go on in the next turn')
  },
)

t.test('a connection whose requests wait to begin is not read', async t => {
  const stage = new Stage()
  const one = stage.connect()
  for (let i = 1; i <= 20; i++) stage.request(one, `${i}`, 7)
  stage.read(one, 20)
  t.notOk(one.isRead)
  for (let i = 0; i < 3; i++) await settle()
  t.notOk(one.isRead)
  for (let i = 0; i < 20; i++) await settle()
  t.ok(one.isRead)
  stage.nowMs += 5
  stage.read(one, 100)
  stage.arrivals.remove(one.session)
  await settle()
  t.equal(one.isRead, true, 'what was closed in a turn in which it was read is left as it is')
})

t.test('with an empty purse a turn reads four streams of strangers', async t => {
  const stage = new Stage()
  const [a, b, known] = [stage.connect(false), stage.connect(false), stage.connect()]
  await stage.emptyPurse()
  await settle()
  stage.read(a, 3)
  t.ok(a.isRead && b.isRead)
  stage.read(a, 1)
  t.notOk(a.isRead || b.isRead)
  t.ok(known.isRead)
  await settle()
  t.ok(a.isRead && b.isRead)
})

t.test('a thousand strangers that are not read are read again some at a time', async t => {
  const stage = new Stage()
  const all = Array.from({ length: 1_000 }, () => stage.connect(false))
  const read = (): number => all.filter(one => one.isRead).length
  await stage.emptyPurse()
  stage.read(all[0]!, 4)
  t.equal(read(), 0)
  const counts: number[] = []
  while (read() < all.length) {
    await settle()
    counts.push(read())
  }
  t.strictSame(counts, [256, 512, 768, 1_000])
})

t.test('a stream with long headers counts as many', async t => {
  const stage = new Stage()
  const [long, short] = [stage.connect(), stage.connect()]
  stage.read(long, 1, 20 * 1024)
  stage.read(short, 8)
  stage.nowMs += 6
  stage.read(stage.connect(), 1)
  t.strictSame([long.isRead, short.isRead], [false, true])
  await stage.emptyPurse()
  await settle()
  const [a, b] = [stage.connect(false), stage.connect(false)]
  stage.read(a, 1, 4 * 1024)
  t.notOk(a.isRead || b.isRead, 'of strangers one is read in a turn')
})
