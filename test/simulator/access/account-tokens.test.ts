import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import t from 'tap'
import {
  type AccountKeyOptions,
  openIdDocuments,
  readAccountKeys,
} from '../../../lib/simulator/access/account-keys.ts'
import { AccountTokens } from '../../../lib/simulator/access/account-tokens.ts'
import type { TokenOrder } from '../../../lib/writes/write-access.ts'

interface Stage {
  nowMs: number
  readonly uids: Map<string, string>
  readonly tokens: AccountTokens
}

function stage(secret = 'secret', files: Partial<AccountKeyOptions> = {}): Stage {
  const options = { issuers: ['us'], signingPem: undefined, checkingPems: [], ...files }
  const keys = readAccountKeys(options, () => secret)
  const uids = new Map([
    ['serviceaccounts/a/robot', 'u1'],
    ['pods/a/p', 'u2'],
  ])
  const made: Stage = {
    nowMs: 1_000_000_000,
    uids,
    tokens: new AccountTokens({
      issuers: options.issuers,
      keys: () => keys,
      nowMs: () => made.nowMs,
      id: () => 'an-id',
      uidOf: (resource, namespace, name) => uids.get(`${resource}/${namespace}/${name}`),
    }),
  }
  return made
}

const order: TokenOrder = {
  account: { name: 'robot', uid: 'u1' },
  namespace: 'a',
  bound: undefined,
  audiences: ['us'],
  seconds: 600,
}

t.test('a token names its account, and what it is bound to', async t => {
  const { tokens } = stage()
  const plain = tokens.review(tokens.issue(order).token, ['us', 'other'])
  t.strictSame(plain, {
    user: {
      user: 'system:serviceaccount:a:robot',
      uid: 'u1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:a'],
      extra: { 'authentication.kubernetes.io/credential-id': ['JTI=an-id'] },
    },
    audiences: ['us'],
  })
  const bound = tokens.issue({ ...order, bound: { kind: 'pod', name: 'p', uid: 'u2' } })
  t.equal(bound.expiresAtMs, 1_000_600_000)
  t.match(tokens.review(bound.token, ['us']), {
    user: {
      extra: {
        'authentication.kubernetes.io/pod-name': ['p'],
        'authentication.kubernetes.io/pod-uid': ['u2'],
      },
    },
  })
})

t.test('threads with the same secret know the tokens of each other, others do not', async t => {
  const { token } = stage().tokens.issue(order)
  t.match(stage().tokens.review(token, ['us']), { audiences: ['us'] })
  t.equal(stage('another').tokens.review(token, ['us']), undefined)
})

t.test('a token ends with its time, its account and what it is bound to', async t => {
  const bound = { kind: 'pod', name: 'p', uid: 'u2' } as const
  const gone = { error: 'service account token has been invalidated' }
  const rows: readonly [string, (one: Stage) => void, object][] = [
    ['time', one => (one.nowMs += 600_000), { error: 'service account token has expired' }],
    ['account', one => one.uids.delete('serviceaccounts/a/robot'), gone],
    ['another account', one => one.uids.set('serviceaccounts/a/robot', 'u9'), gone],
    ['pod', one => one.uids.delete('pods/a/p'), gone],
    ['another pod', one => one.uids.set('pods/a/p', 'u9'), gone],
  ]
  for (const [what, change, expected] of rows) {
    const one = stage()
    const { token } = one.tokens.issue({ ...order, bound })
    t.match(one.tokens.review(token, ['us']), { audiences: ['us'] }, what)
    change(one)
    t.strictSame(one.tokens.review(token, ['us']), expected, what)
  }
})

t.test('a token for others is told so', async t => {
  const { tokens } = stage()
  const { token } = tokens.issue({ ...order, audiences: ['vault'] })
  t.strictSame(tokens.review(token, ['other']), {
    error: 'token audiences ["vault"] is invalid for the target audiences ["other"]',
  })
})

t.test('what we have not signed is no token of ours', async t => {
  const { tokens } = stage()
  const { token } = tokens.issue(order)
  const [head = '', payload = '', signature = ''] = token.split('.')
  const text = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
  const forged = text({ ...claims, sub: 'system:serviceaccount:kube-system:root' })
  for (const one of [
    '',
    'a.b.c',
    `${head}.${payload}`,
    `${head}.${payload}.`,
    `${head}.${forged}.${signature}`,
    `${text({ alg: 'none' })}.${forged}.`,
    `${text({ alg: 'none' })}.${payload}.${signature}`,
    `${token}.x`,
    `${head}.${payload}.${'A'.repeat(86)}`,
    'x'.repeat(1_000_000),
  ]) {
    t.equal(tokens.review(one, ['us']), undefined, one.slice(0, 40))
  }
})

const pems = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey,
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey,
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function publicPemOf(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
}

t.test('a key of a file outlives the process, and its public half is enough to check', async t => {
  for (const [name, algorithm] of [
    ['rsa', 'RS256'],
    ['p256', 'ES256'],
    ['p384', 'ES384'],
    ['p521', 'ES512'],
  ] as const) {
    const signing = stage('one', { signingPem: pemOf(pems[name]) }).tokens
    const { token } = signing.issue(order)
    const [head = ''] = token.split('.')
    t.match(JSON.parse(Buffer.from(head, 'base64url').toString()), { alg: algorithm })
    const checkingPems = [publicPemOf(pems.p256) + publicPemOf(pems.rsa), publicPemOf(pems[name])]
    for (const files of [{ signingPem: pemOf(pems[name]) }, { checkingPems }]) {
      t.match(stage('two', files).tokens.review(token, ['us']), { audiences: ['us'] }, name)
    }
    const others = stage('two', { signingPem: pemOf(pems[name]), issuers: ['them'] }).tokens
    t.equal(others.review(token, ['us']), undefined, 'of another issuer')
    const both = stage('two', { signingPem: pemOf(pems[name]), issuers: ['them', 'us'] }).tokens
    t.match(both.review(token, ['us']), { audiences: ['us'] })
  }
})

t.test('a token signs as its key does, whatever it says', async t => {
  const { tokens } = stage('one', { signingPem: pemOf(pems.rsa) })
  const { token } = tokens.issue(order)
  const [head = '', payload = ''] = token.split('.')
  const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string }
  const secret = publicPemOf(pems.rsa)
  for (const header of [
    { alg: 'HS256', kid },
    { alg: 'none', kid },
    { alg: 'RS512', kid },
  ]) {
    const text = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`
    const hmac = createHmac('sha256', secret).update(text).digest('base64url')
    const rsa = sign('sha512', Buffer.from(text), pems.rsa).toString('base64url')
    for (const signature of [hmac, rsa]) {
      t.equal(tokens.review(`${text}.${signature}`, ['us']), undefined, header.alg)
    }
  }
})

t.test('the documents are those of kube-apiserver', async t => {
  const checkingPems = [publicPemOf(pems.rsa), publicPemOf(pems.p384)]
  const signingPem = pemOf(pems.p384)
  const options = { issuers: ['https://us'], signingPem, checkingPems }
  const { checking } = readAccountKeys(options, () => '')
  const documents = openIdDocuments('https://us', checking, '10.0.0.1:6443')
  t.equal(
    Buffer.from(documents.get('/.well-known/openid-configuration')!.body).toString(),
    '{"issuer":"https://us","jwks_uri":"https://10.0.0.1:6443/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES384","RS256"]}',
  )
  const [rsa, p384] = checking
  const { n } = rsa!.key.export({ format: 'jwk' })
  const { x, y } = p384!.key.export({ format: 'jwk' })
  t.equal(
    Buffer.from(documents.get('/openid/v1/jwks')!.body).toString(),
    `{"keys":[{"use":"sig","kty":"RSA","kid":"${rsa!.id}","alg":"RS256","n":"${n}","e":"AQAB"},` +
      `{"use":"sig","kty":"EC","kid":"${p384!.id}","crv":"P-384","alg":"ES384","x":"${x}","y":"${y}"}]}`,
  )
  for (const issuer of ['us', 'http://us', 'https://us?q', 'https://us#f']) {
    t.equal(openIdDocuments(issuer, checking, 'us').size, 0, issuer)
  }
})

t.test('files without a key that signs are refused', async t => {
  const ed25519 = generateKeyPairSync('ed25519').privateKey
  const read = (files: Partial<AccountKeyOptions>): unknown => stage('x', files)
  t.throws(() => read({ signingPem: 'hello' }), { message: 'has no private key (PEM)' })
  t.throws(() => read({ signingPem: publicPemOf(pems.rsa) }), { message: /has no private key/ })
  t.throws(() => read({ checkingPems: ['hello'] }), { message: 'has no key (PEM)' })
  t.throws(() => read({ signingPem: pemOf(ed25519) }), {
    message: /has a key of ed25519: RSA keys/,
  })
  const broken = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n'
  t.throws(() => read({ checkingPems: [broken] }), { message: 'has a key that cannot be read' })
})
