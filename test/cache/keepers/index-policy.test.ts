import t from 'tap'
import { IndexPolicy } from '../../../lib/cache/keepers/index-policy.ts'

const limits = { maxIndexes: 2, maxPerUser: 2, maxCandidates: 3, inUseRequests: 4 }

t.test('an index is built when it would have helped a second time', async t => {
  const policy = new IndexPolicy(limits)
  t.strictSame(policy.asked(['a', 'a']), [])
  t.strictSame(policy.asked(['b']), [])
  t.strictSame(policy.asked(['a']), [{ type: 'add', name: 'a' }])
  t.strictSame(policy.asked(['a']), [])
  t.strictSame(policy.names, ['a'])
})

t.test('the index that was not asked for the longest makes room, unless it is in use', async t => {
  const policy = new IndexPolicy(limits)
  for (const name of ['a', 'a', 'b', 'b']) policy.asked([name])
  t.strictSame(policy.names, ['a', 'b'])
  policy.asked(['c'])
  t.strictSame(policy.asked(['c']), [], 'both are in use')
  policy.asked(['b'])
  t.strictSame(policy.asked(['c']), [
    { type: 'drop', name: 'a' },
    { type: 'add', name: 'c' },
  ])
})

t.test('names that are asked for once are forgotten', async t => {
  const policy = new IndexPolicy(limits)
  for (let i = 0; i < 1000; i++) t.equal(policy.asked([`x${i}`]).length, 0)
  policy.asked(['x999'])
  policy.asked(['x0'])
  t.strictSame(policy.names, ['x999'])
})

t.test('one user causes only a part of the indexes', async t => {
  const policy = new IndexPolicy({ ...limits, maxPerUser: 1, inUseRequests: 2 })
  for (const name of ['a', 'a', 'b', 'b']) policy.asked([name], 'mallory')
  t.strictSame(policy.names, ['a'], 'it is in use')
  policy.asked(['c'], 'alice')
  t.strictSame(policy.asked(['c'], 'alice'), [{ type: 'add', name: 'c' }])
  policy.asked(['d'], 'mallory')
  t.strictSame(
    policy.asked(['d'], 'mallory'),
    [
      { type: 'drop', name: 'a' },
      { type: 'add', name: 'd' },
    ],
    'one of the same user makes room',
  )
  t.equal(policy.shrink(), 'c', 'the one that was not used the longest')
  t.strictSame(policy.names, ['d'])
})
