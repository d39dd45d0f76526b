import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { inRange, keyAfter, keyFromText, prefixRange } from '../../lib/base/keys.ts'
import {
  type TokenEncryption,
  decodeContinuation,
  encodeContinuation,
  inconsistentToken,
  startKey,
} from '../../lib/kube/continuation.ts'
import { refusalOf } from '../support/kube/kube-builders.ts'
import { anyCharacter } from '../support/kube/any-character.ts'

const prefix = keyFromText('/registry/configmaps/shop/')

function tokenOf(json: string): string {
  return Buffer.from(json).toString('base64url')
}

t.test('a page goes on right after the last key of the one before', async t => {
  const name = fc
    .string({ unit: anyCharacter, minLength: 1, maxLength: 12 })
    .filter(text => !/\/|^\.{1,2}$/.test(text))
  fc.assert(
    fc.property(name, fc.integer({ min: 1 }), fc.boolean(), (last, revision, hasSlash) => {
      const key = keyFromText(`/registry/configmaps/shop/${last}`)
      const token = encodeContinuation({ last: key, prefix, revision, hasSlash })
      const continuation = decodeContinuation(token)
      assert.equal(continuation.revision, revision)
      assert.equal(startKey(continuation, prefix), keyAfter(key))
    }),
  )
  t.pass('no difference')
})

t.test("a token is upstream's, to the byte", async t => {
  const last = keyFromText('/registry/configmaps/shop/<m&c>')
  const page = { last, prefix, revision: 534, hasSlash: true }
  t.equal(
    Buffer.from(encodeContinuation(page), 'base64url').toString(),
    '{"v":"meta.k8s.io/v1","rv":534,"start":"/\\u003cm\\u0026c\\u003e\\u0000"}',
  )
})

t.test('an expired token becomes one that goes on at the newest state', async t => {
  const expired = decodeContinuation(tokenOf('{"v":"meta.k8s.io/v1","rv":7,"start":"/a\\u0000"}'))
  const next = decodeContinuation(inconsistentToken(expired, { prefix }))
  t.strictSame(next, { start: 'a\0', revision: undefined, revisionText: '-1' })
})

t.test('no token leads out of the prefix that the request may read', async t => {
  const start = fc
    .array(fc.constantFrom('..', '.', '/', '//', 'a', '\0', '../', '%2e', '\\', 'é'), {
      maxLength: 6,
    })
    .map(parts => parts.join(''))
  fc.assert(
    fc.property(start, text => {
      const token = tokenOf(JSON.stringify({ v: 'meta.k8s.io/v1', rv: 5, start: text }))
      const refusal = refusalOf(() => {
        const key = startKey(decodeContinuation(token), prefix)
        assert.ok(inRange(key, prefixRange(prefix)), text)
        assert.ok(!/(?:^|\/)\.\.?(?:\/|$)/.test(key.slice(prefix.length)), text)
      })
      assert.ok(refusal === undefined || refusal.code === 400)
    }),
    { numRuns: 2000 },
  )
  t.pass('no way out')
})

t.test('what is wrong with a token is said in the words of upstream', async t => {
  const prefixText = 'invalid continue token: continue key is not valid: '
  const cases: readonly (readonly [string, string])[] = [
    ['a', 'illegal base64 data at input byte 0'],
    ['abcd=', 'illegal base64 data at input byte 4'],
    ['ab+/', 'illegal base64 data at input byte 2'],
    ['', 'unexpected end of JSON input'],
    [tokenOf('null'), 'server does not recognize this encoded version '],
    [tokenOf('[]'), 'json: cannot unmarshal array into Go value of type storage.continueToken'],
    [tokenOf('7'), 'json: cannot unmarshal number into Go value of type storage.continueToken'],
    [
      tokenOf('{"v":7,"rv":"x"}'),
      'json: cannot unmarshal number into Go struct field continueToken.v of type string',
    ],
    [
      tokenOf('{"rv":1.5}'),
      'json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64',
    ],
    [tokenOf('{"v":"meta.k8s.io/v1","rv":1,"start":"a/"}'), 'a/'],
    [
      tokenOf('{"v":"meta.k8s.io/v1","rv":1,"start":""}'),
      'encoded start key empty (version meta.k8s.io/v1)',
    ],
    [tokenOf('{"v":"x\\"y","rv":1}'), 'server does not recognize this encoded version x"y'],
  ]
  for (const [token, message] of cases) {
    t.equal(refusalOf(() => decodeContinuation(token))?.message, prefixText + message, message)
  }
})

t.test('names in a token match in any case, and the last one counts', async t => {
  const token = tokenOf('{"V":"meta.k8s.io/v1","RV":3,"rv":4,"START":"b","start":null}\n')
  t.strictSame(decodeContinuation(token), { start: 'b', revision: 4, revisionText: '4' })
})

t.test('a revision above all others keeps its digits', async t => {
  const token = tokenOf('{"v":"meta.k8s.io/v1","rv":9223372036854775807,"start":"b"}')
  t.equal(decodeContinuation(token).revisionText, '9223372036854775807')
})

t.test('encrypted tokens are decrypted, and plain ones still work', async t => {
  const encryption: TokenEncryption = {
    encrypt: token => `encrypted-${token}`,
    decrypt: text => (text.startsWith('encrypted-') ? text.slice(10) : undefined),
    isEncrypted: () => false,
  }
  const page = {
    last: keyFromText('/registry/configmaps/shop/a'),
    prefix,
    revision: 9,
    hasSlash: true,
  }
  const encrypted = encodeContinuation(page, encryption)
  t.match(encrypted, /^encrypted-/)
  t.equal(decodeContinuation(encrypted, { prefix, encryption }).revision, 9)
  t.equal(decodeContinuation(encodeContinuation(page), { prefix, encryption }).revision, 9)
  t.equal(refusalOf(() => decodeContinuation(encrypted))?.code, 400)
})
