import t from 'tap'
import { allKeys, keyFromText, prefixRange } from '../../../../lib/base/keys.ts'
import { rangesWithout } from '../../../../lib/cache/mirror/feed/ranges.ts'

const prefix = (text: string) => prefixRange(keyFromText(text))

t.test('excluded prefixes split a range into what lies between them', async t => {
  t.same(rangesWithout(prefix('/r/'), []), [prefix('/r/')])
  t.same(rangesWithout(prefix('/r/'), [prefix('/r/b/'), prefix('/r/d/')]), [
    { start: '/r/', end: '/r/b/' },
    { start: '/r/b0', end: '/r/d/' },
    { start: '/r/d0', end: '/r0' },
  ])
})

t.test('what lies outside takes nothing away, and what covers all leaves nothing', async t => {
  t.same(rangesWithout(prefix('/r/'), [prefix('/s/'), prefix('/q/')]), [prefix('/r/')])
  t.same(rangesWithout(prefix('/r/'), [prefix('/')]), [])
  t.same(rangesWithout(prefix('/r/'), [allKeys]), [])
})

t.test('nested and neighbouring exclusions leave no empty ranges', async t => {
  t.same(rangesWithout(prefix('/r/'), [prefix('/r/b/'), prefix('/r/b/c/')]), [
    { start: '/r/', end: '/r/b/' },
    { start: '/r/b0', end: '/r0' },
  ])
  t.same(rangesWithout(allKeys, [{ start: keyFromText('m'), end: undefined }]), [
    { start: '', end: 'm' },
  ])
})
