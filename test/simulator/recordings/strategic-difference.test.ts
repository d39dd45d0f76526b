import t from 'tap'
import { strategicDifference } from '../../../lib/simulator/recordings/strategic-difference.ts'

const free = { message: undefined, kind: 'map' } as const

t.test('members are told apart whatever their names are', async t => {
  const own = JSON.parse('{"__proto__":"a"}') as Record<string, unknown>
  t.equal(JSON.stringify(strategicDifference({}, own, free)), '{"__proto__":"a"}')
  t.equal(JSON.stringify(strategicDifference(own, {}, free)), '{"__proto__":null}')
  const names = { constructor: 'a', toString: 'b' }
  t.equal(
    JSON.stringify(strategicDifference(names, {}, free)),
    '{"constructor":null,"toString":null}',
  )
})
