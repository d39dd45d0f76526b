/** When a plugin is run, how often, and what becomes of what it prints. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { textFromMilliseconds } from '../../lib/go/time.ts'
import { credentialsFrom } from '../../lib/kubeconfig/credentials/exec-credential.ts'
import { ExecPlugin } from '../../lib/kubeconfig/credentials/exec-plugin.ts'
import { parseKubeconfig } from '../../lib/kubeconfig/file/parse.ts'
import type { PluginEnd } from '../../lib/kubeconfig/system.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { credential, type Made, madeSystem, oneContext } from '../support/kubeconfig/made-system.ts'

const settings = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'login',
  args: ['-x'],
  env: [{ name: 'A', value: 'own' }],
  installHint: 'brew install login\u0007',
  providesClusterInfo: false,
  interactiveMode: 'Never',
}

function createPlugin(made: Made, changes: Partial<typeof settings> = {}) {
  const system = madeSystem({ env: { A: 'outer', B: 'kept' }, ...made })
  const clock = new FakeClock()
  const cluster = parseKubeconfig(oneContext({}), '/k').clusters.get('c')
  if (cluster === undefined) throw new Error('there is no cluster')
  const renewed: string[] = []
  const plugin = new ExecPlugin({
    settings: { ...settings, ...changes },
    place: 'user "me"',
    cluster,
    authority: () => undefined,
    system,
    clock,
    onRenewed: ({ token }) => renewed.push(token),
  })
  return { plugin, system, clock, renewed }
}

/** A plugin whose tokens are t1, t2 and so on. */
function counting(expiresAfterMs?: number) {
  let runs = 0
  const made = createPlugin({
    run: () => {
      const expirationTimestamp =
        expiresAfterMs === undefined
          ? undefined
          : textFromMilliseconds(made.clock.wallMs() + expiresAfterMs)
      return exited(credential({ token: `t${++runs}`, expirationTimestamp }))
    },
  })
  return made
}

function exited(output: string, code = 0): PluginEnd {
  return { type: 'exited', code, output }
}

t.test('a plugin gets our environment, its own, and what it is to know', async t => {
  const { plugin, system } = createPlugin({ run: () => exited(credential({ token: 't' })) })
  await plugin.credentials()
  t.match(system.runs, [
    { command: 'login', args: ['-x'], isInteractive: false, env: { A: 'own', B: 'kept' } },
  ])
  t.equal(
    system.runs[0]?.env['KUBERNETES_EXEC_INFO'],
    '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}}',
  )
})

t.test('credentials without an end are used until they are refused', async t => {
  const { plugin, system, clock, renewed } = counting()
  const first = await plugin.credentials()
  await clock.advance(365 * 86_400_000)
  t.equal(await plugin.credentials(), first)
  plugin.refused(first)
  const second = await plugin.credentials()
  t.equal(second.token, 't2')
  plugin.refused(first)
  t.equal(await plugin.credentials(), second, 'others were refused')
  t.equal(system.runs.length, 2)
  t.strictSame(renewed, ['t1', 't2'])
})

t.test('a server that refuses all does not have the plugin run for each request', async t => {
  const { plugin, system, clock } = counting()
  for (let i = 0; i < 100; i++) plugin.refused(await plugin.credentials())
  t.equal(system.runs.length, 2)
  await clock.advance(10_000)
  for (let i = 0; i < 100; i++) plugin.refused(await plugin.credentials())
  t.equal(system.runs.length, 3)
})

t.test('credentials that expire are made anew after that, and not before', async t => {
  const { plugin, system, clock } = counting(60_000)
  t.equal((await plugin.credentials()).token, 't1')
  await clock.advance(60_000)
  t.equal((await plugin.credentials()).token, 't1')
  await clock.advance(1)
  t.equal((await plugin.credentials()).token, 't2')
  t.equal(system.runs.length, 2)
})

t.test('all who wait share one run', async t => {
  let finish: (end: PluginEnd) => void = () => {}
  const { plugin, system } = createPlugin({ run: () => new Promise(resolve => (finish = resolve)) })
  const waiting = Array.from({ length: 50 }, () => plugin.credentials())
  finish(exited(credential({ token: 't' })))
  const tokens = (await Promise.all(waiting)).map(({ token }) => token)
  t.strictSame(new Set(tokens), new Set(['t']))
  t.equal(system.runs.length, 1)
})

t.test('a failure is kept for a pause that grows, and ends with a success', async t => {
  let end: PluginEnd = { type: 'exited', code: 1, output: '' }
  const { plugin, system, clock } = createPlugin({ run: () => end })
  const fails = async (): Promise<void> => {
    await t.rejects(plugin.credentials(), { code: 'unauthorized' })
  }
  const runsAfter = async (ms: number): Promise<number> => {
    await clock.advance(ms)
    await fails()
    return system.runs.length
  }
  await fails()
  t.equal(await runsAfter(999), 1)
  t.equal(await runsAfter(1), 2)
  t.equal(await runsAfter(1_999), 2)
  t.equal(await runsAfter(1), 3)
  for (let i = 0; i < 10; i++) await runsAfter(30_000)
  t.equal(system.runs.length, 13, 'the pause has a bound')
  end = exited(credential({ token: 't' }))
  await clock.advance(30_000)
  t.equal((await plugin.credentials()).token, 't')
})

t.test('a run that gives nothing says why, without what was written', async t => {
  const rows: readonly (readonly [PluginEnd, string])[] = [
    [{ type: 'missing' }, 'is not in PATH; install it: brew install loginU+0007'],
    [
      { type: 'exited', code: 3, output: 's3cret' },
      'failed with exit code 3; the reason is what it wrote to standard error',
    ],
    [{ type: 'signalled', signal: 'SIGTERM' }, 'was ended by SIGTERM'],
    [{ type: 'late' }, 'has not ended within 5 minutes'],
    [{ type: 'verbose' }, 'wrote more than 1048576 bytes to standard output'],
    [{ type: 'failed', reason: 'EACCES' }, 'could not be started: EACCES'],
    [
      exited('s3cret'),
      'wrote no JSON object to standard output; an ExecCredential is expected there',
    ],
    [exited(' \n'), 'wrote nothing to standard output; an ExecCredential is expected there'],
    [
      exited('["s3cret"]'),
      'wrote no JSON object to standard output; an ExecCredential is expected there',
    ],
    [exited('{"kind":"Secret"}'), 'wrote an object of kind "Secret" in place of an ExecCredential'],
    [
      exited(credential({ token: 's3cret' }, 'v1beta1')),
      'wrote apiVersion "client.authentication.k8s.io/v1beta1", but the kubeconfig says "client.authentication.k8s.io/v1"',
    ],
    [
      exited('{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}'),
      'wrote no status',
    ],
    [exited(credential({})), 'wrote neither a token nor a certificate and its key'],
    [
      exited(credential({ token: 5 })),
      'status.token is a number; it must be a text (write it in quotes)',
    ],
    [
      exited(credential({ token: 's3cret\r\nX: y' })),
      'wrote a token with a line break or a control character',
    ],
    [
      exited(credential({ token: 's3cret', expirationTimestamp: 'tomorrow' })),
      'wrote an expirationTimestamp that is no time (RFC 3339)',
    ],
    [exited(credential({ clientKeyData: 's3cret' })), 'wrote a key without its certificate'],
    [exited(credential({ clientCertificateData: 'x' })), 'wrote a certificate without its key'],
    [
      exited(credential({ clientCertificateData: 'x', clientKeyData: 's3cret' })),
      'wrote a certificate and a key that cannot be used: its clientCertificateData has no certificate (PEM)',
    ],
  ]
  for (const [end, says] of rows) {
    const { plugin } = createPlugin({ run: () => end })
    const message = `user "me": exec plugin "login" ${says}`
    await t.rejects(plugin.credentials(), { code: 'unauthorized', message }, says)
  }
})

t.test('a plugin has our standard input as its mode says', async t => {
  const rows: readonly (readonly [string, boolean, boolean | 'refused'])[] = [
    ['Never', true, false],
    ['IfAvailable', true, true],
    ['IfAvailable', false, false],
    ['', true, true],
    ['Always', true, true],
    ['Always', false, 'refused'],
  ]
  for (const [interactiveMode, isTerminal, expected] of rows) {
    const run = (): PluginEnd => exited(credential({ token: 't' }))
    const { plugin, system } = createPlugin({ isTerminal, run }, { interactiveMode })
    if (expected === 'refused') {
      await t.rejects(plugin.credentials(), { message: /needs a terminal/ })
      t.equal(system.runs.length, 0)
      continue
    }
    await plugin.credentials()
    const [program] = system.runs
    t.equal(program?.isInteractive, expected, `${interactiveMode} ${isTerminal}`)
    t.match(program?.env['KUBERNETES_EXEC_INFO'], new RegExp(`"interactive":${expected}`))
  }
})

t.test('a certificate comes with its key, and times are those of Go', t => {
  const [cert, key] = ['client.pem', 'client.key'].map(name =>
    readFileSync(`test/support/certs/${name}`, 'utf8'),
  )
  const version = 'client.authentication.k8s.io/v1'
  const status = { clientCertificateData: cert, clientKeyData: key }
  t.match(credentialsFrom(credential(status), version), {
    token: '',
    certificate: { cert: Buffer.from(cert ?? ''), key: Buffer.from(key ?? '') },
    expiresAtMs: undefined,
  })
  const expiryOf = (expirationTimestamp: unknown): number | undefined =>
    credentialsFrom(credential({ token: 't', expirationTimestamp }), version).expiresAtMs
  t.equal(expiryOf('2026-11-27T21:00:00Z'), Date.UTC(2026, 10, 27, 21))
  t.equal(expiryOf('2026-11-27T22:00:00.25+01:00'), Date.UTC(2026, 10, 27, 21, 0, 0, 250))
  t.equal(expiryOf(null), undefined)
  t.equal(expiryOf('0001-01-01T00:00:00Z'), undefined)
  t.end()
})
