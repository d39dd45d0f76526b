import t from 'tap'
import { warningHeaders } from '../../../../lib/cache/http/request/warning-headers.ts'

const many = (count: number, length: number): string[] =>
  Array.from({ length: count }, (_, i) => `${i} `.padEnd(length, 'x'))

t.test(
  'each warning is a header, once, and none that is empty or has control characters',
  async t => {
    t.strictSame(warningHeaders(['a', 'b "c"', 'a', '', 'd\n']), ['299 - "a"', '299 - "b \\"c\\""'])
  },
)

t.test('warnings that are too long together are cut, and the rest is left out', async t => {
  t.equal(warningHeaders(many(4, 1024)).length, 4, '4,096 characters are not too many')
  const cut = warningHeaders(many(5, 1024))
  t.strictSame(
    cut.map(header => header.length),
    [...many(5, 0)].map(() => '299 - ""'.length + 256),
  )
  t.equal(warningHeaders(many(100, 1024)).length, 16, 'until those that are cut are too long')
  t.equal(warningHeaders(many(100_000, 10)).length, 410)
  t.equal(warningHeaders(many(2_000, 1).map(text => `${text}é`)).length < 2_000, true)
})

t.test('what is too long, and what is cut, is counted to the character', async t => {
  const lengths = (texts: readonly string[]): number[] =>
    warningHeaders(texts).map(header => Array.from(header).length - '299 - ""'.length)
  t.strictSame(lengths(['x'.repeat(4096)]), [4096])
  t.strictSame(lengths(['x'.repeat(4097)]), [256])
  t.strictSame(lengths(['x'.repeat(257), 'y'.repeat(256), 'z'.repeat(3583)]), [257, 256, 3583])
  t.strictSame(lengths(['x'.repeat(257), 'y'.repeat(256), 'z'.repeat(3584)]), [256, 256, 256])
  t.strictSame(
    lengths(['\u{1f600}'.repeat(4096)]),
    [4 * 4096],
    'characters, though a header has their bytes',
  )
  // After those that were seen before it was too much, others come until they are too much again.
  const seen = ['x'.repeat(4090), 'y'.repeat(7)]
  const more = many(20, 256)
  t.equal(lengths([...seen, ...more]).length, 2 + 15)
})
