import t from 'tap'
import { AccountTokens } from '../../../../lib/cluster/access/account-tokens.ts'
import type { TokenOrder } from '../../../../lib/cluster/write/write-access.ts'

interface Stage {
  nowMs: number
  readonly uids: Map<string, string>
  readonly tokens: AccountTokens
}

function stage(secret = 'secret'): Stage {
  const uids = new Map([
    ['serviceaccounts/a/robot', 'u1'],
    ['pods/a/p', 'u2'],
  ])
  const made: Stage = {
    nowMs: 1_000_000_000,
    uids,
    tokens: new AccountTokens({
      issuer: 'us',
      secret: () => secret,
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
