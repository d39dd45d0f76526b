import t from 'tap'
import { isLatestImage } from '../../../../../lib/codec/served/stored/image-reference.ts'

t.test('the newest image is one without tag and digest, or with that tag', async t => {
  for (const image of ['a', 'a/b', 'a:latest', 'localhost:5000/a', 'REG.io/a', '[::1]:5000/a']) {
    t.ok(isLatestImage(image), image)
  }
  t.ok(isLatestImage(`a:latest@sha256:${'b'.repeat(64)}`), 'a tag counts beside a digest')
})

t.test('what has another tag, a digest, or is no reference is not', async t => {
  const digest = 'a'.repeat(64)
  for (const image of ['a:1', `a@sha256:${digest}`, 'A', '', 'a b', digest, 'a@sha256:abc']) {
    t.notOk(isLatestImage(image), image)
  }
  t.notOk(isLatestImage('x'.repeat(256)), 'a name that is too long')
})
