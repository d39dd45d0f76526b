import t from 'tap'
import { inSlices, Slice } from '../../../lib/base/slice.ts'
import type { JsonValue } from '../../../lib/go/json/tree.ts'
import { openApiSchema } from '../../../lib/writes/custom/open-api-schema.ts'
import { type Correlated, schemaErrors } from '../../../lib/writes/custom/schema-check.ts'
import { errorsMaxLength } from '../../../lib/writes/refusals.ts'
import { SlowClock } from '../../support/fake-clock.ts'

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

t.test(
  'alternatives that are tried with all of a large value are given up, whoever waits or not',
  async t => {
    const anyOf = Array.from({ length: 2_000 }, (_, i) => ({
      properties: { list: { items: { enum: ['a'] } } },
      required: [`y${i}`],
    }))
    const schema = openApiSchema({ type: 'object', anyOf })
    const value: JsonValue = new Map([['list', Array.from({ length: 10_000 }, () => 'a')]])
    const check = (signal?: AbortSignal): Promise<unknown[]> =>
      new Slice(new SlowClock(), undefined, signal).take(schemaErrors(value, schema, 'spec'))
    await t.rejects(check(), { message: /by the schema of its definition takes too long/ })
    await t.rejects(check(AbortSignal.abort()), {
      message: 'nobody waits any more for what is worked on',
    })
  },
)

t.test('a value that has changed is compared once, not at each level above it', async t => {
  const deep = (leaf: JsonValue): JsonValue => {
    let value: JsonValue = leaf
    for (let i = 0; i < 90; i++) {
      value = new Map<string, JsonValue>([
        ['a', value],
        ['pad', 'x'.repeat(50_000)],
      ])
    }
    return value
  }
  let schema: object = { type: 'string' }
  for (let i = 0; i < 90; i++) schema = { type: 'object', properties: { a: schema } }
  const correlated = (old: JsonValue): Correlated => ({
    old,
    member: name => (old instanceof Map ? correlated(old.get(name) ?? null) : undefined),
    item: () => undefined,
  })
  const steps = schemaErrors(deep(true), openApiSchema(schema), '', correlated(deep(false)))
  t.equal((await inSlices(steps, new SlowClock())).length, 1)
})
