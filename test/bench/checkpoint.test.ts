import t from 'tap'
import { checkpointBench } from '../../bench/tiers/checkpoint.ts'

t.test('the bench of starts from a checkpoint runs', async t => {
  const { tables, floors } = await checkpointBench.run({
    size: 'small',
    progress: () => undefined,
  })
  t.same(
    tables[0]?.rows.map(([name]) => name),
    ['from the root', 'from a fresh checkpoint', 'from an old checkpoint'],
  )
  t.equal(floors.length, 2)
})
