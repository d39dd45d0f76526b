import t from 'tap'
import { Outage } from '../../lib/base/outage.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { sayingLogger } from '../support/saying-logger.ts'

t.test('an outage is said once with its cause, and its end with its length', async t => {
  const clock = new FakeClock()
  const { logger, said } = sayingLogger()
  const outage = new Outage({ clock, logger, begins: 'begins', ends: 'ends' })
  outage.failed('first', { of: 'x' })
  await clock.advance(90_000)
  outage.failed('second')
  t.match(outage.words, /^since \S+Z \(90 s\): second$/)
  t.equal(outage.lastsMs, 90_000)
  outage.answered()
  t.equal(outage.words, undefined)
  t.strictSame(said, [
    { level: 'warn', text: 'begins', fields: { of: 'x', reason: 'first' } },
    { level: 'info', text: 'ends', fields: { seconds: 90 } },
  ])
})

t.test('where an operator has to act it is an error, and said again each minute', async t => {
  const clock = new FakeClock()
  const { logger, said } = sayingLogger()
  const options = { clock, logger, begins: 'begins', ends: 'ends' }
  const outage = new Outage({ ...options, isUrgent: true, toldAfterMs: 3000 })
  outage.failed('a moment')
  await clock.advance(2000)
  t.equal(outage.words, undefined)
  outage.answered()
  t.strictSame(said, [], 'a short one is not told')
  for (let i = 0; i <= 130; i++) {
    outage.failed(`after ${i} s`)
    await clock.advance(1000)
  }
  outage.answered()
  t.match(
    said.map(({ level, text, fields }) => [level, text, fields['error'], fields['seconds']]),
    [
      ['error', 'begins', 'after 3 s', 3],
      ['error', 'begins', 'after 63 s', 63],
      ['error', 'begins', 'after 123 s', 123],
      ['warn', 'ends', undefined, 131],
    ],
  )
  t.equal(said.length, 4)
  t.equal(said[3]?.fields['since'], said[0]?.fields['since'])
})
