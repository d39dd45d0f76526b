import t from 'tap'
import { JsonFieldReader } from '../../../lib/codec/fields/json-reader.ts'

const paths = [['metadata', 'name'], ['spec', 'size'], ['spec'], ['spec', 'size'], ['é"']] as const

/** The texts of the paths' values, or false if the object is malformed. */
function textsIn(text: string): string[] | false {
  const reader = new JsonFieldReader(paths)
  const bytes = Buffer.from(`xx${text}yy`)
  if (!reader.readStored(bytes, 2, bytes.length - 2)) return false
  return paths.map((_, slot) => reader.scalarText(slot))
}

t.test('values are read by their paths, whatever lies beside them', async t => {
  const rows: readonly (readonly [string, string[] | false])[] = [
    ['{"metadata":{"name":"a"},"spec":{"size":1}}', ['a', '1', '', '1', '']],
    ['{"other":[{"metadata":{"name":"x"}}],"metadata":{"name":"a"}}', ['a', '', '', '', '']],
    ['{"spec":7}', ['', '', '7', '', '']],
    ['{"spec":{"size":true}}', ['', 'true', '', 'true', '']],
    ['{"spec":{"size":null}}', ['', '', '', '', '']],
    ['{"spec":{"size":1.50}}', ['', '1.5', '', '1.5', '']],
    ['{"spec":{"size":[1]}}', ['', '', '', '', '']],
    // Of equal names the last one counts, with all that is in it.
    ['{"spec":{"size":1},"spec":{"size":2}}', ['', '2', '', '2', '']],
    ['{"spec":{"size":1},"spec":{}}', ['', '', '', '', '']],
    // A name may be written with escapes, at any place of it.
    ['{"\\u006detadata":{"n\\u0061me":"a"}}', ['a', '', '', '', '']],
    ['{"spec":{"siz\\u0065":3}}', ['', '3', '', '3', '']],
    ['{"\\u00e9\\"":"x"}', ['', '', '', '', 'x']],
    ['{"é\\"":"x\\u0020y"}', ['', '', '', '', 'x y']],
    ['{"metadat\\u0062":{"name":"a"}}', ['', '', '', '', '']],
    ['{}', ['', '', '', '', '']],
    ['[]', false],
    ['{"spec":{"size":1}', false],
    ['{"spec" 1}', false],
  ]
  for (const [text, expected] of rows) t.strictSame(textsIn(text), expected, text)
})

t.test('maps have the texts of their members, and an empty one for what is none', async t => {
  const reader = new JsonFieldReader([['labels']])
  const bytes = Buffer.from('{"labels":{"a":"1","\\u0062":"2","c":3,"a":"4"}}')
  t.ok(reader.readStored(bytes, 0, bytes.length))
  t.ok(reader.has(0))
  t.strictSame(
    ['a', 'b', 'c', 'd'].map(key => reader.mapText(0, key)),
    ['4', '2', '', undefined],
  )
  const keys: string[] = []
  reader.eachMapKey(0, key => keys.push(key))
  t.strictSame(keys, ['a', 'b', 'c', 'a'])
  const none = Buffer.from('{"labels":7}')
  t.ok(reader.readStored(none, 0, none.length))
  t.equal(reader.mapText(0, 'a'), undefined)
})
