import { silentLogger } from '../../support/silent-logger.ts'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { startAccess } from '../../../lib/cli/commands/plan/access.ts'
import type { AuthPlan } from '../../../lib/cli/commands/plan/auth-plan.ts'
import { defaultIdentityHeaders } from '../../../lib/cache/http/auth/identity-headers.ts'
import type { ReviewServer } from '../../../lib/cache/http/auth/reviews.ts'
import {
  Trust,
  trustConfigMapPath,
  trustFromConfigMap,
} from '../../../lib/cli/commands/plan/trust.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const pem = (name: string): string => readFileSync(`test/support/certs/${name}.pem`, 'utf8')

function configMap(data: Record<string, string>): string {
  return JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', data })
}

const published = {
  'client-ca-file': pem('ca'),
  'requestheader-client-ca-file': pem('proxies-ca'),
  'requestheader-allowed-names': '["front-proxy"]',
  'requestheader-username-headers': '["X-Remote-User","X-Who"]',
  'requestheader-group-headers': '["X-Remote-Group"]',
  'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
}

t.test('the ConfigMap of kube-apiserver says who front proxies are', async t => {
  const { userAuthorities, frontProxies } = trustFromConfigMap(configMap(published))
  t.equal(userAuthorities, pem('ca'))
  t.strictSame(frontProxies, {
    authorities: pem('proxies-ca'),
    allowedNames: ['front-proxy'],
    headers: { ...defaultIdentityHeaders, user: ['x-remote-user', 'x-who'] },
  })
  t.strictSame(trustFromConfigMap(configMap({})), { userAuthorities: '', frontProxies: undefined })
  t.equal(trustFromConfigMap('{}').frontProxies, undefined)
})

const plan: AuthPlan = {
  mode: 'requestheader',
  allowMs: 10_000,
  denyMs: 10_000,
  passIdentity: undefined,
  frontProxies: 'config-map',
  identityHeaders: { user: [], uid: [], group: [], extraPrefix: [] },
  userAuthoritiesFile: undefined,
  frontProxy: undefined,
  reviewServer: undefined,
}

class Published implements ReviewServer {
  answer: { code: number; body: string } = { code: 200, body: configMap(published) }
  readonly asked: string[] = []

  async call(
    { path }: Parameters<ReviewServer['call']>[0],
    as: Parameters<ReviewServer['call']>[1],
  ): ReturnType<ReviewServer['call']> {
    this.asked.push(`${as} ${path}`)
    return { ...this.answer, headers: {}, body: Buffer.from(this.answer.body) }
  }
}

t.test(
  'it is read with our own credentials, again every minute, and kept when it cannot be',
  async t => {
    const clock = new FakeClock(Date.parse('2030-01-01'))
    const upstream = new Published()
    const access = await startAccess(plan, {
      upstream,
      canPass: false,
      clock,
      logger: silentLogger,
    })
    t.strictSame(upstream.asked, [`ourselves ${trustConfigMapPath}`])
    t.strictSame(access.authorities(), [pem('ca').trim(), pem('proxies-ca')])
    t.ok(access.isIdentityHeader('X_Who'))
    const before = access.authorities()
    for (const answer of [
      { code: 503, body: '' },
      { code: 200, body: 'nonsense' },
      {
        code: 200,
        body: configMap({
          ...published,
          'client-ca-file': '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----',
        }),
      },
    ]) {
      upstream.answer = answer
      await clock.advance(60_000)
      t.strictSame(access.authorities(), before)
    }
    upstream.answer = { code: 200, body: configMap({ ...published, 'client-ca-file': '' }) }
    await clock.advance(60_000)
    t.strictSame(access.authorities(), [pem('proxies-ca')])
    await access.stop()
    t.equal(clock.pendingTimers, 0)
  },
)

t.test('without anybody to believe nothing starts', async t => {
  const clock = new FakeClock()
  const upstream = new Published()
  const start = (): Promise<unknown> =>
    startAccess(plan, { upstream, canPass: false, clock, logger: silentLogger })
  upstream.answer = { code: 403, body: '' }
  await t.rejects(start(), { code: 'source_failed', message: /was answered with 403/ })
  upstream.answer = { code: 200, body: configMap({}) }
  await t.rejects(start(), { code: 'source_failed', message: /names no front proxies/ })
  const read = async (): Promise<never> => {
    throw new Error('gone')
  }
  await t.rejects(Trust.start({ read, clock, logger: silentLogger }), /gone/)
})
