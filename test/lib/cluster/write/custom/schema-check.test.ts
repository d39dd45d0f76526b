import t from 'tap'
import { inSlices } from '../../../../../lib/base/slice.ts'
import type { JsonValue } from '../../../../../lib/codec/json/tree.ts'
import { openApiSchema } from '../../../../../lib/cluster/write/custom/open-api-schema.ts'
import { schemaErrors } from '../../../../../lib/cluster/write/custom/schema-check.ts'
import { errorsMaxLength } from '../../../../../lib/cluster/write/refusals.ts'
import { SlowClock } from '../../../../support/fake-clock.ts'

const texts = openApiSchema({ type: 'array', items: { type: 'string' } })
const wrong = (count: number): JsonValue => Array.from({ length: count }, () => true)

t.test('a large value is checked in steps', async t => {
  const clock = new SlowClock()
  const list = Array.from({ length: 6_400 }, () => 'a')
  t.same(await inSlices(schemaErrors(list, texts, 'spec'), clock), [])
  t.ok(clock.yields >= 90, `${clock.yields} turns for others`)
})

t.test('values that are checked in turns have bounds of their own', async t => {
  const [first] = await inSlices(schemaErrors(wrong(1), texts, 'spec'), new SlowClock())
  const most = Math.floor(errorsMaxLength / (first!.message.length + 4))
  const check = (count: number): Promise<unknown[]> =>
    inSlices(schemaErrors(wrong(count), texts, 'spec'), new SlowClock())
  const counts = [0.6, 0.7].map(part => Math.floor(most * part))
  const found = await Promise.all(counts.map(check))
  t.same(
    found.map(errors => errors.length),
    counts,
  )
  const [small, large] = await Promise.allSettled([check(100), check(most * 2), check(100)])
  t.equal(small!.status, 'fulfilled')
  t.equal(large!.status, 'rejected')
})
