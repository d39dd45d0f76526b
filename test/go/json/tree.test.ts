import t from 'tap'
import { parseTree, sortTree, textFromTree, textInOrder } from '../../../lib/go/json/tree.ts'

t.test(
  'a tree is written as Go writes it: sorted by UTF-8, escaped, or in its own order',
  async t => {
    const bytes = Buffer.from('{"b": [1, "<", null, {}], "a": {"z": [], "😀": 1e2, "\uffee": 0}}')
    const tree = parseTree(bytes, 0, bytes.length)!
    const b = String.raw`"b":[1,"\u003c",null,{}]`
    t.equal(textFromTree(tree), `{"a":{"z":[],"\uffee":0,"😀":100},${b}}`)
    t.equal(textInOrder(tree), `{${b},"a":{"z":[],"😀":100,"\uffee":0}}`)
    t.equal(textInOrder(sortTree(tree)), textFromTree(tree))
  },
)
