import t from 'tap'
import { atOnce, inSlices } from '../../../../../lib/base/slice.ts'
import { textFromTree } from '../../../../../lib/codec/json/tree.ts'
import { parseBody } from '../../../../../lib/cluster/write/decode/body.ts'
import { SlowClock } from '../../../../support/fake-clock.ts'

t.test('large bodies are parsed in steps', async t => {
  const items = Array.from({ length: 10_000 }, (_, i) => ({ name: `n${i}` }))
  const json = JSON.stringify({ items })
  const yaml = `items:\n${items.map(({ name }) => `- name: ${name}\n`).join('')}`
  for (const [form, body, yields] of [
    ['json', json, 20],
    ['yaml', yaml, 500],
  ] as const) {
    const clock = new SlowClock()
    const { document } = await inSlices(parseBody(Buffer.from(body), form), clock)
    t.equal(textFromTree(document.value), json)
    t.ok(clock.yields >= yields, `${form}: ${clock.yields} turns for others`)
  }
})

t.test('what is wrong with a YAML body is said with its line, of the first document', async t => {
  const parse = (text: string): string => {
    try {
      return textFromTree(atOnce(parseBody(Buffer.from(text), 'yaml')).document.value)
    } catch (error) {
      return (error as Error).message
    }
  }
  const wrong = 'error converting YAML to JSON: yaml:'
  t.equal(parse('a: b\nc: "d'), `${wrong} line 2: Missing closing "quote`)
  t.match(parse('a: b\nc: [d'), `${wrong} line 2: Flow sequence in block collection`)
  t.match(parse('a: b: c'), `${wrong} line 1: Nested mappings are not allowed`)
  t.equal(parse('a: b\n---\nc: [d'), '{"a":"b"}')
})
