/** A stamp reads the values that it has filled in, and no other object. */

import fc from 'fast-check'
import t from 'tap'
import { Stamp, type Variables } from '../../../lib/simulator/stamps/stamp.ts'
import { fieldOf, messageOf } from './wire.ts'

const marks: Variables = { texts: ['MARKONE', 'MARKTWO'], numbers: [1_234_567] }

/** A pod with marks in its name, its uid, an annotation that has both, and its creation time. */
function pod({ texts: [one = '', two = ''], numbers: [seconds = 0] }: Variables): Buffer {
  const annotation = [fieldOf(1, 'both'), fieldOf(2, `<${one}|${two}>`)]
  const meta = [
    fieldOf(1, `web-${one}`),
    fieldOf(3, 'default'),
    fieldOf(5, two),
    fieldOf(8, messageOf([fieldOf(1, seconds)])),
    fieldOf(12, messageOf(annotation)),
  ]
  const raw = messageOf([fieldOf(1, messageOf(meta)), fieldOf(2, messageOf([fieldOf(10, one)]))])
  const type = messageOf([fieldOf(1, 'v1'), fieldOf(2, 'Pod')])
  return Buffer.concat([Buffer.from('k8s\0'), messageOf([fieldOf(1, type), fieldOf(2, raw)])])
}

const stamp = new Stamp(pod(marks), 'core/v1.Pod', marks)
const text = fc.stringMatching(/^[a-z0-9.-]{1,200}$/)
const variables = fc.tuple(text, text, fc.nat({ max: 2 ** 40 }))

t.test('an object that was filled in is read again', async t => {
  fc.assert(
    fc.property(variables, ([one, two, seconds]) => {
      const values = { texts: [one, two], numbers: [seconds] }
      const filled = Buffer.from(stamp.fill(values))
      t.ok(filled.equals(pod(values)))
      t.strictSame(stamp.read(filled), values)
    }),
  )
})

t.test('an object that differs in any other byte is not', async t => {
  const values: Variables = { texts: ['abc', 'de'], numbers: [5] }
  const filled = Buffer.from(stamp.fill(values))
  const readable = [...filled.keys()].filter(at => {
    const changed = Buffer.from(filled)
    changed[at] = (changed[at] ?? 0) ^ 1
    const found = stamp.read(changed)
    // Then it is another value, and written as it was read.
    if (found !== undefined) t.ok(Buffer.from(stamp.fill(found)).equals(changed), String(at))
    return found !== undefined
  })
  t.ok(readable.length > 0 && readable.length < 5, String(readable.length))
  t.equal(stamp.read(filled.subarray(0, -1)), undefined)
  t.equal(stamp.read(Buffer.concat([filled, Buffer.from([0])])), undefined)
})
