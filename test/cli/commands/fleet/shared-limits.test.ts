import t from 'tap'
import { SharedLimits } from '../../../../lib/cli/commands/fleet/shared-limits.ts'

t.test('a cluster that takes all it can leaves room for every other', async t => {
  const limits = new SharedLimits()
  const tally = (cluster: string) => limits.talliesOf(cluster)('requests', 1_000, 800)
  const takeAll = (cluster: string): number => {
    const one = tally(cluster)
    let taken = 0
    while (one.add(`user ${taken}`, 1) === undefined) taken++
    return taken
  }
  t.equal(takeAll('a'), 400)
  t.equal(takeAll('b'), 200)
  t.equal(takeAll('c'), 100)
  t.equal(tally('d').add('somebody', 1), undefined)
})

t.test('what is refused for all is not counted for its user, and what ends is free', async t => {
  const limits = new SharedLimits()
  const [a, b] = ['a', 'b'].map(name => limits.talliesOf(name)('bytes', 60, 100))
  t.equal(a?.add('x', 40), undefined)
  t.equal(b?.add('x', 30), undefined)
  t.equal(b?.add('x', 5), 'all')
  t.equal(b?.isAbove('x', 30), false)
  a?.remove('x', 40)
  t.equal(b?.add('x', 5), undefined)
  t.equal(b?.add('x', 30), 'user', 'limits of users are those of one service')
  t.equal(a?.isAbove('x', 0), false, 'a user of the same name is another one')
})

t.test('something larger than all limits is allowed alone', async t => {
  const one = new SharedLimits().talliesOf('a')('bytes', 60, 100)
  t.equal(one.add('x', 500), undefined)
  t.equal(one.add('y', 1), 'all')
})
