import t from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { type TokenEncryption } from '../../../../lib/kube/continuation.ts'
import {
  createTokenEncryption,
  readTokenEncryption,
} from '../../../../lib/http/api/token-encryption.ts'

const [a, b] = [1, 2].map(byte => Buffer.alloc(32, byte).toString('base64'))

const pods = keyFromText('/registry/pods/')

t.test('what one replica has encrypted another with the same keys decrypts', async t => {
  const [one, other] = [
    createTokenEncryption(`${a}\n`),
    createTokenEncryption(`# keys\n${b} # new\n\n${a}\n`),
  ] as [TokenEncryption, TokenEncryption]
  const encrypted = one.encrypt('a token', pods)
  t.notMatch(encrypted, /token/)
  t.not(one.encrypt('a token', pods), encrypted, 'no two are alike')
  t.match(encrypted, /^[A-Za-z0-9._~-]+$/, 'needs no escape in a URL')
  t.equal(one.decrypt(encrypted, pods), 'a token')
  t.equal(other.decrypt(encrypted, pods), 'a token')
  const secrets = keyFromText('/registry/secrets/')
  t.equal(one.decrypt(encrypted, secrets), undefined, 'it is for one list')
  t.equal(one.decrypt(other.encrypt('b', pods), pods), undefined, 'of a key that it has not got')
})

t.test('what was changed, or is not encrypted, is not decrypted', async t => {
  const encryption = createTokenEncryption(`${a}`)
  const encrypted = encryption.encrypt('a token', pods)
  for (let i = 4; i < encrypted.length - 1; i++) {
    const other = encrypted[i] === 'A' ? 'B' : 'A'
    if (
      encryption.decrypt(encrypted.slice(0, i) + other + encrypted.slice(i + 1), pods) !== undefined
    ) {
      t.fail(`at ${i}`)
    }
  }
  for (const text of ['', 'wg2.', 'wg2.AAAA', 'eyJ2Ijoi', encrypted.slice(0, -6)]) {
    t.equal(encryption.decrypt(text, pods), undefined, text)
  }
})

t.test('keys that are none are refused and never quoted', async t => {
  for (const [text, message] of [
    ['', /there is no key/],
    ['# nothing\n', /there is no key/],
    [`${a}\nsecret`, /line 2 is not base64 of 32 bytes$/],
    [Buffer.alloc(31).toString('base64'), /line 1 is not base64 of 32 bytes$/],
  ] as const) {
    t.throws(() => createTokenEncryption(text), { code: 'invalid_request', message })
  }
  t.throws(() => readTokenEncryption('nowhere'), { message: /--continue-key-file cannot be read/ })
})
