import t from 'tap'
import { outputs } from '../../bench/codec/outputs.ts'

t.test('the bench of outputs runs, and answers the same twice', async t => {
  const options = { size: 'small', progress: () => undefined } as const
  const first = await outputs.run(options)
  t.equal(first.tables[0]?.rows.length, 5)
  t.equal(first.floors.length, 3)
  t.equal((await outputs.run(options)).resultHash, first.resultHash)
})
