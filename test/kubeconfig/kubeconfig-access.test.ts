/** Credentials of a context while files change, and what is said of them. */

import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { KubeconfigAccess } from '../../lib/kubeconfig/kubeconfig-access.ts'
import type { AccessTls } from '../../lib/kubeconfig/credentials/access-tls.ts'
import type { PluginEnd } from '../../lib/kubeconfig/system.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { credential, type Made, madeSystem, oneContext } from '../support/kubeconfig/made-system.ts'
import { sayingLogger } from '../support/saying-logger.ts'

const file = '/home/me/.kube/config'
const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)

const loginPlugin = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'login',
  interactiveMode: 'Never',
}

async function open(t: Test, text: string | undefined, made: Made = {}) {
  const files = text === undefined ? made.files : { ...made.files, [file]: text }
  const system = madeSystem({ ...made, files: files ?? {} })
  const clock = new FakeClock()
  const { logger, said } = sayingLogger()
  const access = await KubeconfigAccess.open({ system, clock, logger })
  t.teardown(() => access.stop())
  const headers = async () => (await access.credentials()).headers
  return { access, system, clock, said, headers }
}

t.test('each kind of credentials becomes its header', async t => {
  const rows: readonly (readonly [object, string | undefined])[] = [
    [{}, undefined],
    [{ token: 'abc' }, 'Bearer abc'],
    [{ username: 'ü', password: 'p:w' }, `Basic ${Buffer.from('ü:p:w').toString('base64')}`],
    [{ username: 'u' }, `Basic ${Buffer.from('u:').toString('base64')}`],
    [{ token: 'abc', exec: loginPlugin }, 'Bearer abc'],
  ]
  for (const [user, authorization] of rows) {
    const { headers, system } = await open(t, oneContext({ ...user }))
    t.strictSame(await headers(), authorization === undefined ? {} : { authorization })
    t.equal(system.runs.length, 0)
  }
})

t.test('a server without TLS gets no credentials, as with kubectl', async t => {
  for (const server of ['http://api:80', 'api:80']) {
    const user = { token: 'abc', 'client-certificate': 'gone', 'client-key': 'gone', as: 'you' }
    const { access, headers } = await open(t, oneContext(user, { server }))
    t.strictSame(await headers(), { 'impersonate-user': 'you' })
    t.equal(access.url.href, 'http://api/')
    t.match(access.describe(), /no credentials, as the server has no TLS/)
  }
  const { access } = await open(
    t,
    oneContext({}, { server: 'api', 'insecure-skip-tls-verify': true }),
  )
  t.equal(access.url.href, 'https://api/')
})

t.test('a token file is read again, and its last token is used while it is gone', async t => {
  const text = oneContext({ token: 'first', tokenFile: 'token' })
  const { system, clock, headers } = await open(t, text)
  t.strictSame(await headers(), { authorization: 'Bearer first' })
  system.files.set('/home/me/.kube/token', ' second\n')
  t.strictSame(await headers(), { authorization: 'Bearer first' })
  await clock.advance(1_000)
  t.strictSame(await headers(), { authorization: 'Bearer second' })
  for (const bad of ['', 'two\nlines']) {
    system.files.set('/home/me/.kube/token', bad)
    await clock.advance(1_000)
    t.strictSame(await headers(), { authorization: 'Bearer second' })
  }
  system.files.delete('/home/me/.kube/token')
  await clock.advance(1_000)
  t.strictSame(await headers(), { authorization: 'Bearer second' })
})

t.test('a token file that never was there is named', async t => {
  const { headers, system, clock } = await open(t, oneContext({ tokenFile: '/run/token' }))
  await t.rejects(headers(), {
    code: 'unauthorized',
    message: `kubeconfig ${file}: context "dev", user "me": tokenFile /run/token: there is no such file`,
  })
  system.files.set('/run/token', 'here')
  await clock.advance(1_000)
  t.strictSame(await headers(), { authorization: 'Bearer here' })
})

t.test('certificates are read again, and whoever connects is told', async t => {
  const user = { 'client-certificate': 'me.pem', 'client-key': 'me.key' }
  const { access, system, clock, said } = await open(
    t,
    oneContext(user, { 'certificate-authority': '/ca.pem', 'tls-server-name': 'inner' }),
    {
      files: {
        '/ca.pem': pem('ca.pem'),
        '/home/me/.kube/me.pem': pem('client.pem'),
        '/home/me/.kube/me.key': pem('client.key'),
      },
    },
  )
  t.strictSame(access.tls, {
    ca: pem('ca.pem'),
    cert: pem('client.pem'),
    key: pem('client.key'),
    serverName: 'inner',
    isUnverified: false,
  })
  const told: AccessTls[] = []
  const cancel = access.subscribe(tls => told.push(tls))
  await clock.advance(10_000)
  t.equal(told.length, 0)
  system.files.set('/home/me/.kube/me.pem', pem('server.pem'))
  await clock.advance(10_000)
  t.equal(told.length, 0, 'the key is not its key yet')
  t.match(said, [{ level: 'warn', fields: { reason: /is not the key of/ } }])
  system.files.set('/home/me/.kube/me.key', pem('server.key'))
  await clock.advance(10_000)
  t.match(told, [{ cert: pem('server.pem'), key: pem('server.key') }])
  t.strictSame(access.tls.cert, pem('server.pem'))
  cancel()
  system.files.set('/ca.pem', pem('proxies-ca.pem'))
  await clock.advance(10_000)
  t.equal(told.length, 1)
  t.strictSame(access.tls.ca, pem('proxies-ca.pem'))
  access.stop()
  t.equal(clock.pendingTimers, 0)
})

t.test("a plugin's certificate is among the TLS options before a request goes", async t => {
  let name = 'client'
  const { access, clock } = await open(t, oneContext({ exec: loginPlugin }), {
    run: (): PluginEnd => {
      const [cert, key] = [pem(`${name}.pem`).toString(), pem(`${name}.key`).toString()]
      const expirationTimestamp = '1970-01-01T00:20:00Z'
      const status = { clientCertificateData: cert, clientKeyData: key, expirationTimestamp }
      return { type: 'exited', code: 0, output: credential(status) }
    },
  })
  const told: (Buffer | undefined)[] = []
  access.subscribe(({ cert }) => told.push(cert))
  t.equal(access.tls.cert, undefined)
  t.strictSame((await access.credentials()).headers, {})
  t.strictSame(access.tls.key, pem('client.key'))
  await clock.advance(1_000_000)
  await access.credentials()
  t.equal(told.length, 1, 'the same certificate ends no connections')
  name = 'server'
  await clock.advance(1_000)
  const { refused } = await access.credentials()
  t.strictSame(told, [pem('client.pem'), pem('server.pem')])
  refused()
})

t.test('who acts as another one says so with each request', async t => {
  const user = {
    token: 'abc',
    as: 'jané',
    'as-uid': '7',
    'as-groups': ['a', 'b'],
    'as-user-extra': { 'example.com/Reason': ['x', 'y'], 'é%': ['z'] },
  }
  const { headers } = await open(t, oneContext(user))
  t.strictSame(await headers(), {
    authorization: 'Bearer abc',
    'impersonate-user': Buffer.from('jané').toString('latin1'),
    'impersonate-uid': '7',
    'impersonate-group': ['a', 'b'],
    'impersonate-extra-example.com%2freason': ['x', 'y'],
    'impersonate-extra-%c3%a9%25': ['z'],
  })
})

t.test('in a pod without a kubeconfig the service account is used', async t => {
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  const files = {
    [`${folder}/token`]: 'sa\n',
    [`${folder}/ca.crt`]: pem('ca.pem'),
    [`${folder}/namespace`]: 'mine',
  }
  const { access, headers } = await open(t, undefined, { env, files })
  t.strictSame(await headers(), { authorization: 'Bearer sa' })
  t.equal(access.url.href, 'https://[fd00::1]/')
  t.strictSame(access.tls.ca, pem('ca.pem'))
  t.equal(access.namespace, 'mine')
  const named = await open(t, undefined, { env: { ...env, POD_NAMESPACE: 'told' }, files })
  t.equal(named.access.namespace, 'told')
  t.match(
    (await open(t, oneContext({ token: 'abc' }), { env, files })).access.describe(),
    /context "dev"/,
    'a kubeconfig comes first',
  )
  await t.rejects(open(t, undefined, { env }), { message: /there is no kubeconfig/ })
})

t.test('a description has no secrets', async t => {
  const rows: readonly (readonly [object, object, string])[] = [
    [
      { token: 's3cret' },
      { 'insecure-skip-tls-verify': true, 'proxy-url': 'http://u:s3cret@p:3128' },
      'context "dev": https://api.example.com:6443/ (its certificate is not checked), through proxy-url p:3128, user "me" (token), namespace default',
    ],
    [
      { username: 'u', password: 's3cret', as: 'you' },
      {},
      'context "dev": https://api.example.com:6443/, user "me" (username and password) acting as "you", namespace default',
    ],
    [
      { exec: { ...loginPlugin, args: ['s3cret'] } },
      {},
      'context "dev": https://api.example.com:6443/, user "me" (exec plugin login), namespace default',
    ],
    [
      {},
      {},
      'context "dev": https://api.example.com:6443/, user "me" (no credentials), namespace default',
    ],
  ]
  for (const [user, cluster, expected] of rows) {
    const { access } = await open(t, oneContext({ ...user }, { ...cluster }))
    t.equal(access.describe(), expected)
  }
})
