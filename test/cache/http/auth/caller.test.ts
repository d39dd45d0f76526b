import { readFileSync } from 'node:fs'
// Before `toLegacyObject`: Node 20 has a `tls` without functions after it otherwise.
import 'node:tls'
import type { DetailedPeerCertificate } from 'node:tls'
import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { expiryOfToken, tokenCaller } from '../../../../lib/cache/http/auth/caller.ts'
import { trustedUntil } from '../../../../lib/cache/http/auth/certificates.ts'
import { authoritiesOf } from '../../../../lib/cache/http/server/authorities.ts'
import {
  defaultIdentityHeaders,
  headersOfIdentity,
  identityFromHeaders,
  isIdentityHeader,
  isImpersonationHeader,
} from '../../../../lib/cache/http/auth/identity-headers.ts'

function token(claims: unknown): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.c2ln`
}

t.test('a token that says when it ends is believed in that', async t => {
  t.equal(expiryOfToken(token({ exp: 1_700_000_000, sub: 'a' })), 1_700_000_000_000)
  for (const other of [
    'abc',
    'a.b',
    'a.b.c',
    'a.b.c.d',
    token({}),
    token(1),
    token({ exp: 'x' }),
  ]) {
    t.equal(expiryOfToken(other), undefined, other)
  }
})

t.test('only bearers of something are somebody', async t => {
  for (const nobody of [undefined, '', 'Bearer ', 'Bearer', 'Basic Zm9vOmJhcg==']) {
    t.equal(tokenCaller(nobody), undefined, String(nobody))
  }
  const secret = 'a-secret-of-somebody'
  const authorization = `Bearer ${secret}`
  const [one, same, other] = [authorization, authorization, 'Bearer b'].map(tokenCaller)
  t.equal(one?.key, same?.key)
  t.not(one?.key, other?.key)
  // A key is random: something shorter could be in it by chance.
  for (const known of [secret, Buffer.from(secret).toString('base64').slice(0, 20)]) {
    t.notOk(one?.key.includes(known), known)
  }
  t.strictSame(one?.headers, { authorization })
})

t.test('a name of a group may hold a comma, and any letter', async t => {
  const utf8 = Buffer.from('Zoë').toString('latin1')
  const raw = ['X-Remote-User', utf8, 'X-REMOTE-GROUP', 'a, system:masters', 'x-remote-group', 'b']
  const extra = ['X-Remote-Extra-Example.com%2fScopes', 'x', 'X-Remote-Extra-Empty', '']
  const identity = identityFromHeaders([...raw, ...extra], defaultIdentityHeaders)
  t.strictSame(identity, {
    user: 'Zoë',
    uid: '',
    groups: ['a, system:masters', 'b', 'system:authenticated'],
    extra: { 'example.com/scopes': ['x'], empty: [''] },
  })
  t.strictSame(headersOfIdentity(identity!, defaultIdentityHeaders), {
    'x-remote-user': utf8,
    'x-remote-group': ['a, system:masters', 'b', 'system:authenticated'],
    'x-remote-extra-example.com%2fscopes': ['x'],
    'x-remote-extra-empty': [''],
  })
  t.equal(identityFromHeaders(['x-remote-group', 'a'], defaultIdentityHeaders), undefined)
  const anonymous = identityFromHeaders(
    ['x-remote-user', 'system:anonymous', 'x-remote-group', 'system:unauthenticated'],
    defaultIdentityHeaders,
  )
  t.strictSame(anonymous?.groups, ['system:unauthenticated'])
})

t.test('headers that say who somebody is are known in every spelling', async t => {
  const names = { user: ['x-who'], uid: [], group: ['x_groups'], extraPrefix: ['x-more-'] }
  for (const name of [
    'X-Remote-User',
    'x_remote_user',
    'X-Remote_Group',
    'x-remote-uid',
    'X-REMOTE-EXTRA-a',
    'x-who',
    'X_Who',
    'X-Groups',
    'x_more_b',
  ]) {
    t.ok(isIdentityHeader(name, names), name)
  }
  t.notOk(isIdentityHeader('x-remote-address', names))
  for (const name of ['Impersonate-User', 'impersonate_group', 'IMPERSONATE-EXTRA-x']) {
    t.ok(isImpersonationHeader(name), name)
  }
})

t.test('a certificate leads to who signed it, and to nobody of the same name', async t => {
  const file = (name: string): string => readFileSync(`test/support/certs/${name}`, 'utf8')
  const peer = (name: string, issuer?: DetailedPeerCertificate): DetailedPeerCertificate => {
    const certificate = new X509Certificate(file(name))
    const legacy = certificate.toLegacyObject() as unknown as DetailedPeerCertificate
    return Object.assign(legacy, { issuerCertificate: issuer })
  }
  const users = authoritiesOf(file('ca.pem'))
  const proxies = authoritiesOf(file('proxies-ca.pem'))
  const now = Date.parse('2030-01-01')
  t.ok(trustedUntil(peer('client.pem'), users, now))
  t.notOk(trustedUntil(peer('client.pem'), proxies, now))
  t.ok(trustedUntil(peer('front-proxy.pem'), proxies, now))
  t.notOk(trustedUntil(peer('front-proxy.pem'), users, now))
  t.notOk(trustedUntil(peer('false-proxy.pem'), proxies, now), 'the authority has the same name')
  t.notOk(trustedUntil(peer('false-proxy.pem', peer('proxies-ca.pem')), proxies, now))
  t.notOk(trustedUntil(peer('client.pem', peer('proxies-ca.pem')), proxies, now))
  t.notOk(trustedUntil(peer('client.pem'), users, Date.parse('2200-01-01')), 'it has ended')
})
