import t from 'tap'
import { nextTime } from '../../../lib/simulator/controllers/schedules.ts'

/** The first times after a moment. */
function timesAfter(schedule: string, after: string, zone = '', count = 2): string[] {
  const times: string[] = []
  let atMs = Date.parse(after)
  for (let i = 0; i < count; i++) {
    const next = nextTime(schedule, zone, atMs)
    if (next === undefined) break
    times.push(new Date(next).toISOString().slice(0, 19))
    atMs = next
  }
  return times
}

const cases: readonly (readonly [schedule: string, zone: string, ...times: string[]])[] = [
  ['* * * * *', '', '2026-02-27T22:31:00', '2026-02-27T22:32:00'],
  ['*/15 * * * *', '', '2026-02-27T22:45:00', '2026-02-27T23:00:00'],
  ['5,10-12 3 * * *', '', '2026-02-28T03:05:00', '2026-02-28T03:10:00'],
  ['0 0 1 * *', '', '2026-03-01T00:00:00', '2026-04-01T00:00:00'],
  ['0 0 31 * *', '', '2026-03-31T00:00:00', '2026-05-31T00:00:00'],
  ['0 12 * jul-aug sun', '', '2026-07-05T12:00:00', '2026-07-12T12:00:00'],
  ['0 0 13 * fri', '', '2026-03-06T00:00:00', '2026-03-13T00:00:00'],
  ['0 0 29 2 *', '', '2028-02-29T00:00:00'],
  ['@weekly', '', '2026-03-01T00:00:00', '2026-03-08T00:00:00'],
  ['@hourly', '', '2026-02-27T23:00:00', '2026-02-28T00:00:00'],
  ['@every 1h30m', '', '2026-02-28T00:00:30', '2026-02-28T01:30:30'],
  ['0 9 * * *', 'Asia/Tokyo', '2026-02-28T00:00:00', '2026-03-01T00:00:00'],
  ['TZ=Asia/Kolkata 0 6 * * *', '', '2026-02-28T00:30:00', '2026-03-01T00:30:00'],
  ['0 0 30 2 *', ''],
  ['0 0 30 2 *', 'America/New_York'],
]

for (const [schedule, zone, ...expected] of cases) {
  t.test(`${schedule} ${zone}`, async t => {
    const found = timesAfter(schedule, '2026-02-27T22:30:30Z', zone, Math.max(1, expected.length))
    t.strictSame(found, expected)
  })
}

t.test('each day has its time, also where clocks are put forward and back', async t => {
  const times = timesAfter('30 12 * * *', '2026-01-01T00:00:00Z', 'Europe/Berlin', 364)
  t.equal(new Set(times.map(time => time.slice(0, 10))).size, 364)
})
