import t from 'tap'
import { authPlanOf } from '../../../../lib/cli/commands/plan/auth-plan.ts'
import { load } from '../../../../lib/cli/commands/command-line.ts'
import type { OptionValues } from '../../../../lib/cli/options/option-values.ts'
import { memoryOption } from '../../../../lib/cli/options/process.ts'
import { valueOf } from '../../../../lib/cli/options/rules.ts'

function values(...args: string[]): OptionValues {
  const invocation = load(['serve', ...args], {})
  if (invocation.kind !== 'run') throw new Error(invocation.kind)
  return invocation.values
}

const upstream = ['--upstream', 'https://10.0.0.1:6443']
const https = ['--listen', 'https://0.0.0.0:6443']
const cert = 'test/support/certs/front-proxy.pem'
const key = 'test/support/certs/front-proxy.key'
const ca = 'test/support/certs/ca.pem'
const review = ['--auth', 'delegate', '--review-server', 'https://kubernetes.default.svc']
const frontProxy = ['--front-proxy-cert', cert, '--front-proxy-key', key]

t.test('with an upstream it is asked, on a loopback address alone nobody is', async t => {
  t.match(authPlanOf(values(...upstream), '0.0.0.0'), { mode: 'delegate', allowMs: 10_000 })
  t.equal(authPlanOf(values(), '127.0.0.1'), undefined)
  t.equal(authPlanOf(values('--auth', 'none', ...upstream), '0.0.0.0'), undefined)
  t.match(authPlanOf(values(...review), '0.0.0.0'), { mode: 'delegate' })
})

t.test('front proxies are named by options, or by the ConfigMap', async t => {
  const mode = ['--auth', 'requestheader', ...https, ...upstream]
  const pass = ['--pass-identity', 'headers', ...frontProxy]
  t.match(authPlanOf(values(...mode, ...pass), '0.0.0.0'), {
    mode: 'requestheader',
    frontProxies: 'config-map',
    passIdentity: 'headers',
  })
  const named = ['--requestheader-client-ca', 'ca.pem', '--requestheader-allowed-names', 'a, b']
  const headers = ['--requestheader-username-headers', 'X-User,X-Remote-User']
  const plan = authPlanOf(
    values(...mode, '--pass-identity', 'impersonate', ...named, ...headers),
    '0.0.0.0',
  )
  t.match(plan?.frontProxies, {
    authoritiesFile: 'ca.pem',
    allowedNames: ['a', 'b'],
    headers: { user: ['X-User', 'X-Remote-User'], group: ['X-Remote-Group'] },
  })
})

t.test('what would let in more than was meant is refused', async t => {
  const cases: readonly (readonly [string[], RegExp])[] = [
    [[], /refusing to listen on 0\.0\.0\.0 without authentication/],
    [['--auth', 'delegate'], /needs --upstream or --review-server/],
    [['--auth', 'requestheader', ...upstream], /--pass-identity/],
    [['--auth', 'requestheader', '--review-server', 'https://a'], /needs --listen https/],
    [[...upstream, '--client-ca', 'ca.pem'], /--client-ca with --upstream needs --pass-identity/],
    [[...upstream, '--pass-identity', 'headers'], /needs --front-proxy-cert/],
    [[...upstream, '--pass-identity', 'both'], /is not headers or impersonate/],
    [[...upstream, ...frontProxy], /need --pass-identity headers/],
    [[...upstream, '--requestheader-client-ca', 'a'], /needs --auth requestheader/],
    [[...upstream, '--authorized-ttl', 'long'], /is not a number of seconds/],
    [['--auth', 'delegate', '--review-server', 'https://a/b'], /is not an address/],
    [[...upstream, '--review-server-ca', 'a'], /needs --review-server/],
    [[...review, '--review-server-ca', 'LICENSE'], /--review-server-ca LICENSE has no certificate/],
    [[...review, '--review-server-token-file', 'none'], /-token-file cannot be read/],
    [
      [...upstream, '--pass-identity=headers', '--front-proxy-cert', cert, '--front-proxy-key', ca],
      /--front-proxy-key test\/support\/certs\/ca\.pem has no key/,
    ],
  ]
  for (const [args, message] of cases) {
    t.throws(() => authPlanOf(values(...args), '0.0.0.0'), { message }, args.join(' '))
  }
})

t.test('a memory budget is a size', async t => {
  t.equal(valueOf(values(), memoryOption), undefined)
  t.equal(valueOf(values('--memory-budget', '1.5GiB'), memoryOption), 1.5 * 1024 ** 3)
  for (const text of ['4', '4GB', '-1GiB', '0MiB']) {
    t.throws(() => valueOf(values(`--memory-budget=${text}`), memoryOption), {
      code: 'invalid_request',
    })
  }
})
