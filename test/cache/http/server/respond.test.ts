import t from 'tap'
import {
  sendPieces,
  sendWhole,
  slowReaderTimeoutMs,
} from '../../../../lib/cache/http/server/respond.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { ScriptedRequest } from '../../../support/http/scripted-request.ts'

const response = { status: 200, headers: { a: 'b' } }

function* repeated(piece: string, count: number, made: { count: number }): Generator<Uint8Array> {
  for (let i = 0; i < count; i++) {
    made.count++
    yield Buffer.from(piece)
  }
}

t.test('a short body is sent whole, with its length', async t => {
  const request = new ScriptedRequest()
  const outcome = await sendPieces(
    request,
    response,
    repeated('x', 2_048, { count: 0 }),
    new FakeClock(),
  )
  t.equal(outcome, 'sent')
  t.match(request, {
    responded: { status: 200, headers: { a: 'b', 'content-length': '2048' } },
    isEnded: true,
  })
  t.equal(request.text, 'x'.repeat(2_048))
})

t.test('a long body is sent as it is made, without a length', async t => {
  const request = new ScriptedRequest()
  const outcome = await sendPieces(
    request,
    response,
    repeated('x'.repeat(1_000), 5, { count: 0 }),
    new FakeClock(),
  )
  t.equal(outcome, 'sent')
  t.strictSame(request.responded, response)
  t.equal(request.text, 'x'.repeat(5_000))
  t.ok(request.isEnded)
})

t.test('no more is made than the client takes', async t => {
  const request = new ScriptedRequest()
  const made = { count: 0 }
  request.isFull = true
  const clock = new FakeClock()
  const sent = sendPieces(request, response, repeated('x'.repeat(3_000), 3, made), clock)
  t.equal(made.count, 1)
  request.drain()
  t.equal(await sent, 'sent')
  t.equal(made.count, 3)
  t.equal(clock.pendingTimers, 0)
})

t.test('a client that reads at once does not keep others waiting', async t => {
  const request = new ScriptedRequest()
  request.isFull = true
  // As a socket does that the system has room for: it drains before anything else has its turn.
  request.onDrain = task => process.nextTick(task)
  class CountingClock extends FakeClock {
    yields = 0
    #nowMs = 0
    override monotonicMs(): number {
      return (this.#nowMs += 0.25)
    }
    override yield(): Promise<void> {
      this.yields++
      return super.yield()
    }
  }
  const clock = new CountingClock()
  const pieces = repeated('x'.repeat(3_000), 200, { count: 0 })
  t.equal(await sendPieces(request, response, pieces, clock), 'sent')
  t.ok(clock.yields >= 20, `${clock.yields} turns for others`)
})

t.test('a client that leaves ends the work', async t => {
  const request = new ScriptedRequest()
  const made = { count: 0 }
  request.isFull = true
  const sent = sendPieces(request, response, repeated('x'.repeat(3_000), 3, made), new FakeClock())
  request.leave()
  t.equal(await sent, 'left')
  t.equal(made.count, 1)
})

t.test('a client that takes nothing is cut off', async t => {
  const request = new ScriptedRequest()
  request.isFull = true
  const clock = new FakeClock()
  const sent = sendPieces(request, response, repeated('x'.repeat(3_000), 3, { count: 0 }), clock)
  await clock.advance(slowReaderTimeoutMs)
  t.equal(await sent, 'slow')
  t.ok(request.isClosed)
})

t.test('the answer to HEAD has the length and no body', async t => {
  const request = new ScriptedRequest('HEAD')
  sendWhole(request, response, Buffer.from('body'))
  t.strictSame(request.responded?.headers, { a: 'b', 'content-length': '4' })
  t.equal(request.text, '')
})

t.test('a client that reads a little now and then is cut off in the end', async t => {
  const clock = new FakeClock()
  const request = new ScriptedRequest()
  request.isFull = true
  const sent = sendPieces(request, response, repeated('x'.repeat(3_000), 1e6, { count: 0 }), clock)
  for (let i = 0; i < 9; i++) {
    await clock.advance(slowReaderTimeoutMs - 1_000)
    request.emit('drain')
  }
  t.notOk(request.isClosed)
  await clock.advance(slowReaderTimeoutMs - 1_000)
  request.emit('drain')
  await clock.advance(slowReaderTimeoutMs - 1_000)
  t.equal(await sent, 'slow')
  t.ok(request.isClosed)
})
