/** Values as the server's internal types have them, which errors show. */

import t from 'tap'
import { internalValue } from '../../../lib/writes/validation/internal-types.ts'
import { textFromTree } from '../../../lib/go/json/tree.ts'
import { treeOf } from '../recorded/load.ts'

t.test('a schema, a boolean or a list in its place are members of one struct', async t => {
  const shown = (type: string, value: unknown): string => {
    const member = treeOf({ value }).get('value')
    return textFromTree(internalValue(type, member))
  }
  for (const type of ['orbool', 'orarray']) {
    t.equal(shown(type, undefined), 'null')
    t.equal(shown(type, null), 'null')
  }
  t.equal(shown('orbool', true), '{"Allows":true,"Schema":null}')
  t.equal(shown('orbool', false), '{"Allows":false,"Schema":null}')
  t.match(shown('orbool', { type: 'string' }), /^\{"Allows":true,"Schema":\{.*"Type":"string"/)
  t.match(
    shown('orarray', { type: 'string' }),
    /^\{"JSONSchemas":null,"Schema":\{.*"Type":"string"/,
  )
  t.match(
    shown('orarray', [{ type: 'string' }]),
    /^\{"JSONSchemas":\[\{.*"Type":"string".*\}\],"Schema":null\}$/,
  )
  t.equal(shown('{}string', { b: '2', a: '1' }), '{"a":"1","b":"2"}')
  t.equal(shown('[]string', undefined), 'null')
})
