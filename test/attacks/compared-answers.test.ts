/** An upstream with which answers are compared may send anything: it is told from ours at once,
 *  whatever its size, and what is logged of it has a bound. */

import t from 'tap'
import { firstDifference } from '../../lib/proxy/evidence/difference.ts'

const differs = (ours: string | Buffer, theirs: string | Buffer): string | undefined =>
  firstDifference(Buffer.from(ours), Buffer.from(theirs))

t.test('names of any length, and any names', async t => {
  const long = differs('{}', `{${JSON.stringify('x'.repeat(1e6))}:1}`)
  t.ok((long?.length ?? 0) < 300)
  for (const name of ['__proto__', 'constructor', 'toString', '']) {
    t.ok(differs('{"a":1}', `{"a":1,${JSON.stringify(name)}:{"a":1}}`))
  }
})

t.test('what is deep, or no JSON', async t => {
  const deep = (end: string): string => `${'['.repeat(1e5)}${end}${']'.repeat(1e5)}`
  t.ok(differs(deep('1'), deep('2')))
  t.equal(differs('{}', '\u00ff'), 'byte 0')
  t.equal(differs('{}', ''), 'byte 0')
  t.equal(differs(Buffer.alloc(10), Buffer.alloc(11)), 'byte 10')
})

t.test('what is large is not parsed', async t => {
  const large = (end: string): string => `{"a":"${'x'.repeat(10e6)}","b":${end}}`
  t.equal(differs(large('1'), large('2')), `byte ${large('').length - 1}`)
  t.equal(differs(large('1'), large('1')), undefined)
  t.equal(differs(large('1'), '{'), 'byte 1')
  t.equal(differs('{"a":{"b":1}}', '{"a":{"b":2}}'), '.a.b')
})
