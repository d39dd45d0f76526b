import t from 'tap'
import {
  commonIndexCount,
  firstMissing,
  hasIndex,
  indexCount,
  indexesFromText,
  mergedIndexes,
  textOfIndexes,
  withIndexes,
} from '../../../lib/simulator/controllers/job-indexes.ts'

t.test('indexes are written as upstream writes them', async t => {
  for (const [text, shown] of [
    ['', ''],
    ['0', '0'],
    ['0,1', '0,1'],
    ['0-2', '0-2'],
    ['1,2,3,7', '1-3,7'],
    ['0,x,3-4', '0,3,4'],
    ['8-200', '8,9'],
    ['10', ''],
  ] as const) {
    t.equal(textOfIndexes(indexesFromText(text, 10)), shown, text)
  }
})

t.test('intervals are joined, counted and searched', async t => {
  const some = withIndexes(indexesFromText('0-2,6', 100), [4, 3])
  t.equal(textOfIndexes(some), '0-4,6')
  t.equal(indexCount(some), 6)
  t.same(
    [0, 4, 5, 6, 7].map(index => hasIndex(some, index)),
    [true, true, false, true, false],
  )
  t.same(firstMissing(some, 3, 100), [5, 7, 8])
  t.same(firstMissing(some, 3, 7), [5])
  t.equal(commonIndexCount(some, indexesFromText('3-8', 100)), 3)
  t.equal(textOfIndexes(mergedIndexes(some, indexesFromText('5,9', 100))), '0-6,9')
})

t.test('a hundred thousand indexes are as much work as their intervals', async t => {
  const many = indexesFromText('0-99999', 100_000)
  t.same(firstMissing(many, 500, 100_000), [])
  t.equal(commonIndexCount(many, many), 100_000)
})
