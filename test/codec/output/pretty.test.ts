import fc from 'fast-check'
import { strictEqual } from 'node:assert'
import t from 'tap'
import { JsonIndenter, indentJson } from '../../../lib/codec/output/pretty.ts'
import { exchanges } from '../../golden/load.ts'

t.test('JSON is indented as JSON.stringify does, however it is cut into pieces', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.nat()), (value, cuts) => {
      const bytes = Buffer.from(JSON.stringify(value))
      const indenter = new JsonIndenter()
      const ends = [...new Set(cuts.map(cut => cut % (bytes.length + 1))), bytes.length]
      ends.sort((a, b) => a - b)
      const pieces = ends.map((end, i) => indenter.push(bytes.subarray(ends[i - 1] ?? 0, end)))
      strictEqual(Buffer.concat(pieces).toString(), JSON.stringify(value, undefined, 2))
    }),
  )
})

t.test('white space between tokens does not matter', async t => {
  const indented = Buffer.from(indentJson(Buffer.from('{ "a" :[ ] ,\n"b c":{\t} }\n'))).toString()
  t.equal(indented, '{\n  "a": [],\n  "b c": {}\n}')
})

t.test('recorded answers are what their compact twins become', async t => {
  const [pretty] = exchanges().filter(({ id }) => id === 'pub-1056')
  const [compact] = exchanges().filter(({ id }) => id === 'pub-1059')
  const indented = indentJson(Buffer.from(compact?.response.body ?? ''))
  t.equal(Buffer.from(indented).toString(), pretty?.response.body)
})
