/** YAML as values that JSON can have, or the reason why not, in one line. */

import t from 'tap'
import { yamlValues } from '../../lib/base/yaml.ts'

t.test('documents are values that JSON can have', t => {
  const rows: readonly (readonly [string, readonly unknown[]])[] = [
    ['', []],
    ['# nothing', []],
    ['---', [null]],
    ['a: 1\n---\n- b\n', [{ a: 1 }, ['b']]],
    ['a: &x [1]\nb: *x', [{ a: [1], b: [1] }]],
    ['a: .nan\nb: 2026-01-01', [{ a: null, b: '2026-01-01' }]],
    ['{"a": [true, null]}', [{ a: [true, null] }]],
    [`${'['.repeat(480)}${']'.repeat(480)}`, [JSON.parse(`${'['.repeat(480)}${']'.repeat(480)}`)]],
  ]
  for (const [text, values] of rows) t.strictSame(yamlValues(text), values, text.slice(0, 40))
  t.end()
})

t.test('what is none is refused with its place', t => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['a: 1\n---\nb: [1', /^Flow sequence .* at line 3, column 6$/],
    ['a: "\\q"', /^Invalid escape sequence \\q at line 1, column 5$/],
    ['a: *b', /^Unresolved alias .*: b$/],
    ['a: &x {b: *x}', /^an alias leads back to what it is in$/],
    ['['.repeat(1_000), /^it nests deeper than 500 levels$/],
    [`${'- '.repeat(1_760)}"a\n b"`, /^it nests deeper than 500 levels$/],
  ]
  for (const [text, message] of rows) t.throws(() => yamlValues(text), { message })
  t.end()
})
