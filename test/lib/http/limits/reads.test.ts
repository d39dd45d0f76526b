import type { ServerHttp2Session } from 'node:http2'
import t from 'tap'
import { Reads } from '../../../../lib/http/limits/reads.ts'
import { noteAccepted } from '../../../../lib/http/server/accepted.ts'
import { FakeClock, settle } from '../../../support/fake-clock.ts'

const clock = new FakeClock()

function createReads(isWaiting: () => boolean = () => false): Reads {
  return new Reads({ clock, isWaiting })
}

/** A connection that says whether it is read. */
interface Connection {
  readonly session: ServerHttp2Session
  isRead: boolean
}

function connect(reads: Reads): Connection {
  const handle = {
    readStart: () => void (connection.isRead = true),
    readStop: () => void (connection.isRead = false),
  }
  const session = { socket: { _handle: handle } } as unknown as ServerHttp2Session
  const connection: Connection = { session, isRead: true }
  reads.add(session)
  return connection
}

function begin(reads: Reads, { session }: Connection, count: number): void {
  for (let i = 0; i < count; i++) reads.began(session)
}

t.test(
  'when a turn has read many streams of strangers, none of them is read until the next',
  async t => {
    const reads = createReads()
    const [a, b, known] = [connect(reads), connect(reads), connect(reads)]
    noteAccepted(known.session)
    begin(reads, a, 3)
    t.ok(a.isRead && b.isRead)
    begin(reads, a, 1)
    t.notOk(a.isRead || b.isRead)
    t.ok(known.isRead, 'clients that are known have their own share')
    await settle()
    t.ok(a.isRead && b.isRead)
    begin(reads, known, 12)
    t.notOk(known.isRead)
    t.ok(a.isRead)
    await settle()
    t.ok(known.isRead)
  },
)

t.test('many connections and many streams are remembered for ten seconds', async t => {
  const reads = createReads()
  const one = connect(reads)
  const open = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) reads.open('a', () => {})
    for (let i = 0; i < count; i++) await settle()
  }
  begin(reads, one, 4)
  t.notOk(reads.isCrowded, 'many requests over one connection are no crowd')
  await open(10)
  await clock.advance(1_000)
  await open(10)
  t.notOk(reads.isCrowded, 'nor are a few connections')
  await open(10)
  t.ok(reads.isCrowded)
  await clock.advance(8_999)
  t.ok(reads.isCrowded)
  await clock.advance(1)
  t.notOk(reads.isCrowded, 'the streams came ten seconds ago')
})

t.test('a connection whose requests wait to begin is not read', async t => {
  let waits = true
  const reads = createReads(() => waits)
  const one = connect(reads)
  begin(reads, one, 100)
  await settle()
  t.notOk(one.isRead)
  waits = false
  await settle()
  t.ok(one.isRead)
  begin(reads, one, 100)
  reads.remove(one.session)
  await settle()
  t.notOk(one.isRead, 'what is closed is left alone')
})

t.test('connections begin a few in each turn, and addresses take turns', async t => {
  const reads = createReads()
  const begun: string[] = []
  for (let i = 1; i <= 9; i++) reads.open('a', () => begun.push(`a${i}`))
  reads.open('b', () => begun.push('b1'))
  t.equal(begun.splice(0).join(' '), 'a1')
  for (const next of ['a2', 'b1', 'a3']) {
    await settle()
    t.equal(begun.splice(0).join(' '), next)
  }
})
