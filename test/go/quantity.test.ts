import t from 'tap'
import { sumOfQuantities, canonicalQuantity, isPlainQuantity } from '../../lib/go/quantity.ts'

t.test('a quantity has one form', async t => {
  for (const [text, canonical] of [
    ['0', '0'],
    ['0m', '0'],
    ['-0.0Gi', '0'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['5.', '5.'],
    ['+005', '+005'],
    ['1.5Gi', '1536Mi'],
    ['1000m', '1'],
    ['1500', '1500'],
    ['5000', '5k'],
    ['1000000000', '1G'],
    ['1024', '1024'],
    ['1024Ki', '1Mi'],
    ['1000Ki', '1000Ki'],
    ['0.1Ki', '102400m'],
    ['1.1Mi', '1153433600m'],
    ['1e3', '1e3'],
    ['1e5', '100e3'],
    ['12E0', '12E0'],
    ['100e-3', '100e-3'],
    ['1E', '1E'],
    ['1000P', '1E'],
    ['-1.5', '-1500m'],
    ['0.0000000001', '1n'],
    ['0.0000000011', '2n'],
    ['-0.0000000001', '-1n'],
    ['12345678901234567890', '12345678901234567890'],
    ['8Ei', '9223372036854775807'],
    ['7Ei', '7Ei'],
  ] as const) {
    t.equal(canonicalQuantity(text), canonical, text)
    t.equal(canonicalQuantity(canonical), canonical, `${canonical} stays`)
  }
})

t.test('what is no quantity, or one beyond what suffixes say, is left alone', async t => {
  const wrong = [
    '',
    '.',
    '-',
    'm',
    'Ki',
    '1 Gi',
    '1gi',
    '1KI',
    '1e',
    '0x1',
    '1,5',
    '1e9999',
    '1000E',
  ]
  for (const text of [...wrong, '9'.repeat(61)]) t.equal(canonicalQuantity(text), undefined, text)
})

t.test('what is plainly canonical is canonical', async t => {
  const suffixes = [
    '',
    'n',
    'u',
    'm',
    'k',
    'M',
    'G',
    'T',
    'P',
    'E',
    'Ki',
    'Mi',
    'Gi',
    'Ti',
    'ki',
    'i',
    'x',
  ]
  const numbers = [
    '',
    '0',
    '00',
    '1',
    '7',
    '10',
    '100',
    '999',
    '1000',
    '1001',
    '1024',
    '1025',
    '2048',
  ]
  let count = 0
  for (const number of [...numbers, '123456', '1024000', '999999999999', '-1', '1.5', '1e3']) {
    for (const suffix of suffixes) {
      const text = number + suffix
      const bytes = Buffer.from(`9${text}9`)
      if (!isPlainQuantity(bytes, 1, 1 + text.length)) continue
      count++
      t.equal(canonicalQuantity(text), text, text)
    }
  }
  t.ok(count > 80)
  for (const text of ['100m', '250m', '1', '4', '128Mi', '512Mi', '16Gi', '110', '8052056Ki']) {
    t.ok(isPlainQuantity(Buffer.from(text), 0, text.length), `${text} takes the short way`)
  }
})

t.test('a text that Go takes for canonical stays as it is', async t => {
  for (const kept of ['+1', '1.500', '1.234', '1E3', '007', '5.', '1030Ki', '1.500k']) {
    t.equal(canonicalQuantity(kept), kept)
  }
  t.equal(canonicalQuantity('1.5'), '1500m')
  t.equal(canonicalQuantity('0.500'), '500m')
  t.equal(canonicalQuantity('1000k'), '1M')
  t.equal(canonicalQuantity('1024Ki'), '1Mi')
})

t.test('sums have the form of the first amount', async t => {
  for (const [texts, sum] of [
    [['1', '500m'], '1500m'],
    [['1Gi', '1Gi'], '2Gi'],
    [['1Gi', '500M'], '1573741824'],
    [['500M', '1Gi'], '1573741824'],
    [['0', '1e3'], '1e3'],
    [['1', '-1'], '0'],
    [['-1Ki', '-1Ki'], '-2Ki'],
    [[], '0'],
  ] as const) {
    t.equal(sumOfQuantities(texts), sum, texts.join(' + '))
  }
})
