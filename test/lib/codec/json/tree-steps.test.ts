import t from 'tap'
import { inSlices } from '../../../../lib/base/slice.ts'
import {
  parseInSteps,
  parseTree,
  sortInSteps,
  sortTree,
  textFromTree,
  textInOrder,
  textInSteps,
} from '../../../../lib/codec/json/tree.ts'
import { SlowClock } from '../../../support/fake-clock.ts'

const text = JSON.stringify(
  Array.from({ length: 2_000 }, (_, i) => ({ b: [i, `"<${i}`, null], a: { '\u00fc': {}, z: [] } })),
)
const bytes = Buffer.from(text)

t.test('large trees are parsed, sorted and written in steps', async t => {
  const tree = parseTree(bytes, 0, bytes.length)!
  const turns = async (steps: Parameters<typeof inSlices>[0]): Promise<unknown> => {
    const clock = new SlowClock()
    const result = await inSlices(steps, clock)
    t.ok(clock.yields >= 15, `${clock.yields} turns for others`)
    return result
  }
  t.same(await turns(parseInSteps(bytes, 0, bytes.length)), tree)
  t.equal(await turns(textInSteps(tree)), textFromTree(tree))
  t.equal(textInOrder((await turns(sortInSteps(tree))) as typeof tree), textFromTree(tree))
  t.equal(textInOrder(sortTree(tree)), textFromTree(tree))
})
