import t from 'tap'
import { answersOf, storeBench } from '../../bench/store/store.ts'

t.test('the bench of the store runs, and answers the same twice', async t => {
  const options = { size: 'small', progress: () => undefined } as const
  const first = await storeBench.run(options)
  t.equal(first.tables.length, 7)
  t.equal(first.floors.length, 20)
  t.equal(await answersOf('small'), first.resultHash)
})
