import { strictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import {
  isCanonicalTime,
  millisecondsFromText,
  momentFromText,
  textFromMilliseconds,
} from '../../lib/go/time.ts'

t.test('times are read and written as Date does', async () => {
  // Years 1 to 9999, to the second.
  const seconds = fc.integer({ min: -62_135_596_799, max: 253_402_300_799 })
  fc.assert(
    fc.property(seconds, time => {
      const text = new Date(time * 1000).toISOString().replace('.000Z', 'Z')
      strictEqual(millisecondsFromText(text), time * 1000)
      strictEqual(textFromMilliseconds(time * 1000), text)
    }),
    { numRuns: 2000 },
  )
})

t.test('times have fractions and zones, and a zero', async () => {
  strictEqual(millisecondsFromText('2026-01-01T00:00:00.25Z'), Date.UTC(2026, 0) + 250)
  strictEqual(millisecondsFromText('2026-01-01T00:30:00+01:30'), Date.UTC(2026, 0) - 3_600_000)
  strictEqual(millisecondsFromText('2026-01-01T00:30:00-00:30'), Date.UTC(2026, 0) + 3_600_000)
  strictEqual(millisecondsFromText('0001-01-01T00:00:00Z'), null)
  strictEqual(textFromMilliseconds(null), '0001-01-01T00:00:00Z')
  for (const wrong of [
    '2026-01-01',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:00',
    ' 2026-01-01T00:00:00Z',
  ]) {
    strictEqual(millisecondsFromText(wrong), undefined, wrong)
  }
  strictEqual(millisecondsFromText('2000-02-29T00:00:00Z'), Date.UTC(2000, 1, 29))
})

t.test('what Go forgives is forgiven', async t => {
  const same = momentFromText('2026-01-01T01:02:03.5Z')
  t.strictSame(same, { seconds: Date.UTC(2026, 0, 1, 1, 2, 3) / 1000, micros: 500_000 })
  t.strictSame(momentFromText('2026-01-01T01:02:03,5Z'), same, 'a comma before the fraction')
  t.strictSame(momentFromText('2026-01-01T1:02:03.5Z'), same, 'an hour of one digit')
  t.strictSame(momentFromText('2026-01-02T01:02:03.5+24:00'), same, 'an offset of 24 hours')
  t.strictSame(momentFromText('2026-01-01T02:02:03.5+00:60'), same, 'an offset of 60 minutes')
  t.equal(momentFromText('2026-01-01T01:02:03+25:00'), undefined)
  t.equal(momentFromText('2026-01-01T01:02:03+00:61'), undefined)
})

t.test('a canonical time is one that is written as it was read', async () => {
  const digits = fc.integer({ min: 0, max: 99 }).map(value => String(value).padStart(2, '0'))
  const parts = fc.tuple(digits, digits, digits, digits, digits, digits, digits)
  fc.assert(
    fc.property(parts, ([century, year, month, day, hour, minute, second]) => {
      const text = `${century}${year}-${month}-${day}T${hour}:${minute}:${second}Z`
      const time = millisecondsFromText(text)
      const isWrittenSo = typeof time === 'number' && textFromMilliseconds(time) === text
      const bytes = Buffer.from(`"${text}"`)
      strictEqual(isCanonicalTime(bytes, 1, bytes.length - 1), isWrittenSo && century >= '10', text)
    }),
    { numRuns: 3000 },
  )
})
