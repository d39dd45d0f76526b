import t from 'tap'
import { proxyBench } from '../../bench/proxy/proxy.ts'

t.test('the bench of the proxy runs', async t => {
  const { tables, floors, resultHash } = await proxyBench.run({
    size: 'small',
    progress: () => undefined,
  })
  t.equal(tables[0]?.rows.length, 6)
  t.equal(floors.length, 3)
  t.ok(
    floors.every(({ value }) => value > 0),
    'nothing was measured as nothing',
  )
  t.match(resultHash, /^[0-9a-f]{16}$/)
})
