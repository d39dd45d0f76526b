/** The objects of a fresh cluster: the stored forms are those that writes of the API make. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { storedObjects } from '../../../lib/simulator/fresh/stored-objects.ts'
import { minors } from '../../../lib/codec/schema/schema.ts'
import { storedRows, storedText } from '../../support/fresh/stored-file.ts'

t.test('writes of the API make what is in the file', async t => {
  const file = readFileSync('lib/simulator/fresh/stored.json', 'utf8')
  t.equal(storedText(await storedRows(t)) === file, true, 'see test/support/fresh/stored-file.ts')
})

t.test('with another uid and another time they make what is taken from it', async t => {
  const [uid, seconds] = ['f3a1c1f0-9e5b-4f55-8d53-0123456789ab', 1_790_000_000]
  for (const minor of [minors()[0] ?? '', minors().at(-1) ?? '']) {
    const made = await storedRows(t, { uid, seconds, of: [minor] })
    const taken = [...storedObjects(minor, { uid: () => uid, seconds })].map(({ key, value }) => ({
      key,
      value: Buffer.from(value).toString('base64'),
    }))
    t.strictSame(
      taken,
      made.map(({ key, value }) => ({ key, value })),
      minor,
    )
  }
})
