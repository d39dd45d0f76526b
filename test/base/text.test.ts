import t from 'tap'
import { textFromBytes } from '../../lib/base/text.ts'

t.test('the text of a window is what Buffer says it is', async t => {
  const texts = [
    '',
    'a',
    'default',
    'x'.repeat(41),
    'ä',
    '\u{1F600}'.repeat(20),
    '\0',
    'é'.repeat(40),
  ]
  for (const text of texts) {
    const bytes = Buffer.from(`<${text}>`)
    const end = bytes.length - 1
    for (let again = 0; again < 2; again++) t.equal(textFromBytes(bytes, 1, end), text)
    t.equal(textFromBytes(new Uint8Array(bytes), 1, end), text, 'of any bytes')
  }
  const invalid = Buffer.from([0x61, 0xff, 0xc3])
  t.equal(textFromBytes(invalid, 0, 3), invalid.toString())
  t.same(
    ['utf8Slice', 'latin1Slice'].map(
      name => typeof (Buffer.prototype as unknown as Record<string, unknown>)[name],
    ),
    ['function', 'function'],
    'this Node has what is faster than toString',
  )
})
