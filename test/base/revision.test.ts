import t from 'tap'
import { nextRevision, revision } from '../../lib/base/revision.ts'

t.test('a revision is a whole number from 0 to 2^53 - 1', async t => {
  t.equal(revision(0), 0)
  t.equal(revision(Number.MAX_SAFE_INTEGER), 2 ** 53 - 1)
  for (const value of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => revision(value), {
      code: 'invalid_request',
      message: /is not a whole number from 0 to 2\^53 - 1/,
    })
  }
  t.throws(() => nextRevision(revision(2 ** 53 - 1)), { code: 'invalid_request' })
})
