import { strictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import {
  agesHold,
  flagText,
  formatSelector,
  humanDuration,
  labelsText,
  noteAges,
  selectorText,
  shortList,
  since,
} from '../../../lib/codec/table/format.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const year = 365 * day

t.test('durations change their units where kube-apiserver does', async () => {
  const rows: readonly (readonly [milliseconds: number, text: string])[] = [
    [-2 * second, '<invalid>'],
    [-1 * second, '0s'],
    [-1, '0s'],
    [0, '0s'],
    [999, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [2 * minute + second, '2m1s'],
    [10 * minute - second, '9m59s'],
    [10 * minute + second, '10m'],
    [3 * hour - second, '179m'],
    [3 * hour, '3h'],
    [3 * hour + minute, '3h1m'],
    [8 * hour - second, '7h59m'],
    [8 * hour + minute, '8h'],
    [48 * hour - second, '47h'],
    [2 * day, '2d'],
    [2 * day + hour, '2d1h'],
    [8 * day - second, '7d23h'],
    [8 * day + hour, '8d'],
    [2 * year - second, '729d'],
    [2 * year, '2y'],
    [2 * year + day, '2y1d'],
    [8 * year - second, '7y364d'],
    [8 * year + day, '8y'],
    [400 * year, '292y'],
  ]
  for (const [milliseconds, text] of rows) strictEqual(humanDuration(milliseconds), text)
  strictEqual(since(null, 0), '<unknown>')
  strictEqual(since(undefined, 0), '<unknown>')
  strictEqual(since(1000, 6000), '5s')
})

t.test('lists are cut short after three', async () => {
  strictEqual(shortList([], '*'), '*')
  strictEqual(shortList(['a', 'b', 'c'], '*'), 'a,b,c')
  strictEqual(shortList(['a', 'b', 'c', 'd', 'e'], '*'), 'a,b,c + 2 more...')
})

t.test('labels and selectors are written by name', async () => {
  strictEqual(labelsText([]), '<none>')
  strictEqual(
    labelsText([
      ['b', '1'],
      ['a', ''],
    ]),
    'a=,b=1',
  )
  strictEqual(flagText(undefined), '<unset>')
  strictEqual(flagText(false), 'False')
  strictEqual(selectorText(undefined), '')
  strictEqual(formatSelector(undefined), '<none>')
  const expression = (key: string, operator: string, ...values: string[]) => ({
    key,
    operator,
    values,
  })
  const selector = {
    matchLabels: [['m', '1']] as const,
    matchExpressions: [
      expression('z', 'In', 'b', 'a'),
      expression('k', 'NotIn', 'x'),
      expression('a', 'Exists'),
      expression('n', 'DoesNotExist'),
    ],
  }
  strictEqual(formatSelector(selector), 'a,k notin (x),m=1,!n,z in (a,b)')
  for (const wrong of [
    expression('a', 'In'),
    expression('a', 'Exists', 'x'),
    expression('a', 'DoesNotExist', 'x'),
    expression('a', 'Gt', '1'),
  ]) {
    strictEqual(formatSelector({ matchLabels: [], matchExpressions: [wrong] }), '<error>')
  }
})

t.test('a duration says for how long it stays as it is', async () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.nat(10 * minute), fc.nat(9 * hour), fc.nat(9 * day), fc.nat(20 * year)),
      fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      (milliseconds, share) => {
        noteAges()
        const text = humanDuration(milliseconds)
        const holdsMs = agesHold()
        strictEqual(holdsMs >= 1, true)
        strictEqual(humanDuration(milliseconds + Math.floor(share * holdsMs)), text)
        if (milliseconds < 8 * year) {
          strictEqual(humanDuration(milliseconds + holdsMs) === text, false, 'and no longer')
        }
      },
    ),
  )
})

t.test('so it does where the units change', async t => {
  for (const edge of [0, 2 * minute, 10 * minute, 3 * hour, 8 * hour, 2 * day, 8 * day, 2 * year]) {
    for (const milliseconds of [edge - 1000, edge - 1, edge, edge + 1, edge + 999, edge + 1000]) {
      noteAges()
      const text = humanDuration(milliseconds)
      const holdsMs = agesHold()
      if (milliseconds < 0) {
        t.equal(holdsMs, 0)
        continue
      }
      t.equal(humanDuration(milliseconds + holdsMs - 1), text, `${milliseconds} ms`)
      t.not(humanDuration(milliseconds + holdsMs), text, `${milliseconds} ms and no longer`)
    }
  }
  t.strictSame([-2000, -1999, -1000, -1, 0].map(humanDuration), [
    '<invalid>',
    '0s',
    '0s',
    '0s',
    '0s',
  ])
})

t.test('of several durations, the one that changes first counts', async t => {
  noteAges()
  t.equal(agesHold(), Infinity, 'what shows no time stays for ever')
  humanDuration(3 * hour)
  t.equal(agesHold(), minute)
  humanDuration(1500)
  humanDuration(30 * day)
  t.equal(agesHold(), 500)
  since(2000, 1000)
  t.equal(agesHold(), 0, 'what lies in the future is made anew')
})
