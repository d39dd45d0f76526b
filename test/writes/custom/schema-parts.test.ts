import t from 'tap'
import { anywhereBelow } from '../../../lib/writes/custom/schema-parts.ts'

t.test('what a schema says is found wherever values have schemas, and asked once', async t => {
  let asked = 0
  const isSaid = anywhereBelow(schema => {
    asked++
    return schema['x'] === true
  })
  const said = { x: true }
  t.equal(isSaid(said), true)
  t.equal(isSaid({ items: { items: said } }), true)
  t.equal(isSaid({ properties: { a: {}, b: { additionalProperties: said } } }), true)
  const silent = { properties: { x: {} }, items: {}, additionalProperties: true, not: said }
  t.equal(isSaid(silent), false)
  t.equal(isSaid(undefined), false)
  asked = 0
  t.equal(isSaid(silent), false)
  t.equal(asked, 0)
})
