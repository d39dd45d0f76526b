import t from 'tap'
import { traceIdOf } from '../../../../lib/cache/http/audit/trace.ts'

const trace = '0af7651916cd43dd8448eb211c80319c'
const parent = 'b7ad6b7169203331'

t.test('a trace id is that of a valid traceparent', t => {
  const rows: readonly (readonly [string | undefined, string | undefined])[] = [
    [`00-${trace}-${parent}-01`, trace],
    [`01-${trace}-${parent}-01-what-comes-later`, trace],
    [undefined, undefined],
    ['', undefined],
    [`00-${trace}-${parent}`, undefined],
    [`00-${trace}-${parent}-01-more`, undefined],
    [`ff-${trace}-${parent}-01`, undefined],
    [`00-${trace.toUpperCase()}-${parent}-01`, undefined],
    [`00-${'0'.repeat(32)}-${parent}-01`, undefined],
    [`00-${trace}-${'0'.repeat(16)}-01`, undefined],
    [`00-${trace}-${parent}-01, 00-${trace}-${parent}-01`, undefined],
    [`00-${trace}x-${parent}-01`, undefined],
  ]
  for (const [traceparent, wanted] of rows) {
    t.equal(traceIdOf({ traceparent }), wanted, `${traceparent}`)
  }
  t.end()
})
