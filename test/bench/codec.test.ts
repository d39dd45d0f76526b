import t from 'tap'
import { codecBench } from '../../bench/codec/codec.ts'

t.test('the codec bench runs, and makes the same of the same pods', async t => {
  const options = { size: 'small', progress: () => undefined } as const
  const first = await codecBench.run(options)
  t.equal(first.tables.length, 2)
  t.equal(first.floors.length, 4)
  t.equal((await codecBench.run(options)).resultHash, first.resultHash)
})
