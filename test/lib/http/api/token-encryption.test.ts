import t from 'tap'
import { type ContinuationSeal } from '../../../../lib/kube/continuation.ts'
import { createSeal, readSeal } from '../../../../lib/http/api/token-encryption.ts'

const [a, b] = [1, 2].map(byte => Buffer.alloc(32, byte).toString('base64'))

t.test('what one replica has sealed another with the same keys opens', async t => {
  const [one, other] = [createSeal(`${a}\n`), createSeal(`# keys\n${b} # new\n\n${a}\n`)] as [
    ContinuationSeal,
    ContinuationSeal,
  ]
  const sealed = one.seal('a token')
  t.notMatch(sealed, /token/)
  t.not(one.seal('a token'), sealed, 'no two are alike')
  t.match(sealed, /^[A-Za-z0-9._~-]+$/, 'needs no escape in a URL')
  t.equal(one.open(sealed), 'a token')
  t.equal(other.open(sealed), 'a token')
  t.equal(one.open(other.seal('b')), undefined, 'of a key that it has not got')
})

t.test('what was changed, or is not sealed, does not open', async t => {
  const seal = createSeal(`${a}`)
  const sealed = seal.seal('a token')
  for (let i = 4; i < sealed.length - 1; i++) {
    const other = sealed[i] === 'A' ? 'B' : 'A'
    if (seal.open(sealed.slice(0, i) + other + sealed.slice(i + 1)) !== undefined) t.fail(`at ${i}`)
  }
  for (const text of ['', 'wg1.', 'wg1.AAAA', 'eyJ2Ijoi', sealed.slice(0, -6)]) {
    t.equal(seal.open(text), undefined, text)
  }
})

t.test('keys that are none are refused and never quoted', async t => {
  for (const [text, message] of [
    ['', /there is no key/],
    ['# nothing\n', /there is no key/],
    [`${a}\nsecret`, /line 2 is not base64 of 32 bytes$/],
    [Buffer.alloc(31).toString('base64'), /line 1 is not base64 of 32 bytes$/],
  ] as const) {
    t.throws(() => createSeal(text), { code: 'invalid_request', message })
  }
  t.throws(() => readSeal('nowhere'), { message: /--continue-key-file cannot be read/ })
})
