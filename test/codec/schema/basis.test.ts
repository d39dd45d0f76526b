import { readdirSync } from 'node:fs'
import t from 'tap'
import { basisOf, recordedRange } from '../../../lib/codec/schema/basis.ts'
import { recordedMinors } from '../../../lib/codec/schema/schema.ts'

t.test('the recorded minors are those of which the tests have recordings', t => {
  const folders = readdirSync('test/golden/data').filter(name => /^\d/.test(name))
  t.strictSame(recordedMinors(), folders.sort())
  t.end()
})

for (const [version, basis] of [
  ['1.36', 'recorded'],
  ['v1.33.13', 'recorded'],
  ['v1.36.2-eks-a1', 'recorded'],
  ['v1.37.0', 'derived'],
  ['1.32', 'derived'],
  ['v1.38.0-alpha.1', 'none'],
  ['v1.360.0', 'none'],
  ['', 'none'],
] as const) {
  t.test(`${version} is ${basis}`, t => {
    t.equal(basisOf(version), basis)
    t.equal(recordedRange(), '1.33 to 1.36')
    t.end()
  })
}
