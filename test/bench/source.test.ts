import t from 'tap'
import { sourceBench } from '../../bench/source/source.ts'

t.test('the bench of the source runs', async t => {
  const { tables, floors, resultHash } = await sourceBench.run({
    size: 'small',
    progress: () => undefined,
  })
  const [cost, informers, waits, memory] = tables
  t.equal(cost?.rows.length, 6)
  const [, [, , mirrored] = []] = informers?.rows ?? []
  t.equal(mirrored, 40, 'the mirror answers all informers')
  t.equal(waits?.rows.length, 2)
  t.equal(memory?.rows.length, 2)
  t.equal(floors.length, 6)
  t.match(resultHash, /^[0-9a-f]{16}$/)
})
