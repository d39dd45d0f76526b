import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { type TokenEncryption, decodeContinuation } from '../../../lib/kube/continuation.ts'
import { refusalOf } from '../../support/kube/kube-builders.ts'
import {
  createTokenEncryption,
  readTokenEncryption,
} from '../../../lib/cli/commands/plan/token-encryption.ts'

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

/** Made by the builds of these commits, with the key of 32 bytes of 7, for pods: plain, and
 *  encrypted. What an older replica has told a client must go on at a newer one. */
const recorded = {
  '7b72718':
    'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTM2LCJzdGFydCI6Ii90ZWFtLTEvaW5uZXItbGVkZ2VyLTExLTh6N2c5YnFndmMtNXhubnJcdTAwMDAifQ',
  '7b72718 encrypted':
    'wg1.QrwdF9uHs8brOWGEj6O3rKQ-QoAFvfFH5PORhc8QGeoaioHijLkp_tWgU4gFNKCOPKDXuUv8n9v-YQ6vFLyUe80ytQ5LxkQZobTl7lsWRHfyLXsZ3vo7oeNcCmXxpd00Z-q1k2jYDtapf9LJ0cDW6RMG33G69nAbDvp3j_55WfHu89AOMYTLx4VGF4Ez1L9z9B0',
  '2b11f17': 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIzNCwic3RhcnQiOiIvdGVhbS0xL3dlYi0wXHUwMDAwIn0',
  '2b11f17 encrypted':
    'wg2.83aqHLsS5uqulKhggSG8F2WZ97qJul9mquy2wf-FTLEPyxr1m5zQTXSVAZBxVx26Z6ygKxCqyZmDEyrG9fUpvhyzzwKB9nYewm5kxcXnYXkG8g7NWHrRNyWg7N6aiOPiKaCgf8qTGkiygeCZKyHC',
  '2b11f17 encrypted, without a slash':
    'wg2.T8g96q_3S_SzdEEOQiA0UKqzm2cxsrZKg7r7vAvfcAjIi3u_BFFWGbBSjMhRcUn4paHwYR5eihk7hG7-WH__Oi8AEW-JGYDSCp9RQ_nzk2PxI1VMCbAr9_q-Q2cCzEIrXGG7Ek9HdmC2JMSNiTk',
}

t.test('tokens of older builds go on here, or have expired so that clients list again', async t => {
  const hidden = {
    prefix: pods,
    encryption: createTokenEncryption(Buffer.alloc(32, 7).toString('base64')),
  }
  const web = { revision: 1234, start: 'team-1/web-0\0' }
  const inner = { revision: 136, start: 'team-1/inner-ledger-11-8z7g9bqgvc-5xnnr\0' }
  t.match(decodeContinuation(recorded['7b72718'], hidden), inner)
  t.match(decodeContinuation(recorded['2b11f17'], hidden), web)
  t.match(decodeContinuation(recorded['2b11f17 encrypted'], hidden), web)
  t.match(decodeContinuation(recorded['2b11f17 encrypted, without a slash'], hidden), web)
  const lost = (token: string): unknown => refusalOf(() => decodeContinuation(token, hidden))
  t.match(lost(recorded['7b72718 encrypted']), { code: 410, reason: 'Expired' })
  const other = createTokenEncryption(`${a}`).encrypt('a token', pods)
  t.match(lost(other), { code: 410, message: /You must start a new list/ }, 'of a key that is gone')
  t.match(lost('wg'), { code: 400 })
  const plainly = (): unknown => decodeContinuation(recorded['2b11f17 encrypted'])
  t.match(refusalOf(plainly), { code: 400 }, 'without keys, none is ours')
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
