import { readFileSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import * as https from 'node:https'
import t, { type Test } from 'tap'
import { keyFromText } from '../../../../lib/base/keys.ts'
import { protobufFromJson } from '../../../../lib/codec/transcode/transcode.ts'
import type { CallersOptions } from '../../../../lib/cache/http/auth/callers.ts'
import { authoritiesOf } from '../../../../lib/cache/http/server/authorities.ts'
import { defaultIdentityHeaders } from '../../../../lib/cache/http/auth/identity-headers.ts'
import { createGuard } from '../../../support/upstream/guard.ts'
import {
  answeredHere,
  type FrontAccess,
  type Proxied,
  startProxied,
} from '../../../support/upstream/proxied.ts'
import { identity } from '../../../support/upstream/reviews.ts'
import type { Binding } from '../../../support/upstream/rules.ts'
import type { SeenRequest } from '../../../support/upstream/answers.ts'

const directory = 'test/support/certs'
const file = (name: string): Buffer => readFileSync(`${directory}/${name}`)
const pem = (name: string): string => file(name).toString()

const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]
const bindings: Binding[] = [
  { subjects: ['alice', 'bob'], namespace: 'a', rules: everything },
  {
    subjects: ['watchglass'],
    namespace: '',
    rules: [...everything, { verbs: ['*'], nonResourceURLs: ['*'] }],
  },
]
const users = new Map([
  ['ours', identity('watchglass', 'system:masters')],
  ['carol', identity('carol')],
])

const stored = protobufFromJson(
  Buffer.from('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"a"}}'),
) as Uint8Array

interface Answer {
  readonly status: number
  readonly origin: string
  readonly body: string
}

interface Secured extends Proxied {
  /** Asks over TLS, with a certificate of that name if there is one. */
  readonly ask: (
    path: string,
    certificate?: string,
    headers?: OutgoingHttpHeaders,
  ) => Promise<Answer>
  /** Requests that the upstream has seen since the last time. */
  readonly seen: () => SeenRequest[]
}

const allowedNames = ['front-proxy']
const userAuthorities = authoritiesOf(pem('ca.pem'))
const frontProxies = {
  authorities: authoritiesOf(pem('proxies-ca.pem')),
  allowedNames,
  headers: defaultIdentityHeaders,
}

async function startSecured(
  t: Test,
  mode: FrontAccess['mode'],
  callers: Partial<CallersOptions>,
): Promise<Secured> {
  const proxied = await startProxied(t, {
    access: { mode, callers: { userAuthorities: () => userAuthorities, ...callers } },
    token: async () => 'ours',
    upstream: { tls: true },
    tls: {
      ca: file('ca.pem'),
      frontProxy: { cert: file('front-proxy.pem'), key: file('front-proxy.key') },
    },
    objects: [],
    service: {
      listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
      tls: {
        certFile: `${directory}/server.pem`,
        keyFile: `${directory}/server.key`,
        authorities: () => [pem('ca.pem'), pem('proxies-ca.pem')],
      },
    },
  })
  const { upstream, port } = proxied
  upstream.before = createGuard({ users, bindings: () => bindings })
  const send = (path: string, options: https.RequestOptions): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const all = { port, path, agent: false, ca: file('ca.pem'), ...options }
      const request = https.get(all, response => {
        let body = ''
        response.on('data', piece => (body += String(piece)))
        response.on('end', () => {
          const origin = String(response.headers['x-watchglass']).replace(/\d+/, 'N')
          resolve({ status: response.statusCode ?? 0, origin, body })
        })
      })
      request.on('error', reject)
    })
  await proxied.client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText('/registry/configmaps/a/x'), value: stored }],
    failure: [],
  })
  await answeredHere(proxied, '', 'v1', 'configmaps')
  upstream.seen.length = 0
  return {
    ...proxied,
    ask: (path, certificate, headers = {}) => {
      const shown =
        certificate === undefined
          ? {}
          : { cert: file(`${certificate}.pem`), key: file(`${certificate}.key`) }
      return send(path, { ...shown, headers })
    },
    // Questions of our own are none of the callers'.
    seen: () =>
      upstream.seen
        .splice(0)
        .filter(({ url }) => /configmaps|reviews/.test(url) && !/limit=1/.test(url)),
  }
}

const here = '/api/v1/namespaces/a/configmaps'
const elsewhere = '/api/v1/namespaces/b/configmaps'

t.test('users with certificates are shown to the upstream by a front proxy', async t => {
  const { ask, seen } = await startSecured(t, 'delegate', { passIdentity: 'headers' })
  t.match(await ask(here, 'client'), { status: 200, origin: 'mirror; revision=N' })
  const [review] = seen()
  t.match(review, { certificate: 'front-proxy', headers: { 'x-remote-user': 'alice' } })
  t.equal(review!.headers['x-remote-group'], 'dev, system:authenticated')
  t.equal(review!.headers.authorization, undefined)

  const denied = await ask(elsewhere, 'client', { authorization: 'Bearer ours' })
  t.match(denied, { status: 403, origin: 'pass; reason=denied', body: /User \\"alice\\"/ })
  for (const { certificate, headers } of seen()) {
    t.equal(certificate, 'front-proxy')
    t.equal(headers['x-remote-user'], 'alice')
    t.equal(headers.authorization, undefined, 'one identity at a time')
  }
})

t.test('nobody says who they are by headers', async t => {
  const { ask, seen } = await startSecured(t, 'delegate', { passIdentity: 'headers' })
  const claims = {
    'X-Remote-User': 'watchglass',
    x_remote_user: 'watchglass',
    'X-Remote-Group': 'system:masters',
  }
  t.match(await ask(elsewhere, undefined, claims), { status: 403, body: /system:anonymous/ })
  t.match(await ask(elsewhere, 'client', claims), { status: 403, body: /alice/ })
  t.match(await ask(elsewhere, 'false-proxy', claims), { status: 403, body: /system:anonymous/ })
  t.match(await ask(elsewhere, 'front-proxy', claims), { status: 403, body: /system:anonymous/ })
  for (const { rawHeaders } of seen()) t.notMatch(rawHeaders.join('\n'), 'masters')
})

t.test('users with certificates are impersonated where that is configured', async t => {
  const { ask, seen } = await startSecured(t, 'delegate', { passIdentity: 'impersonate' })
  t.match(await ask(here, 'client'), { status: 200, origin: 'mirror; revision=N' })
  t.match(await ask(elsewhere, 'client'), { status: 403, body: /User \\"alice\\"/ })
  const requests = seen()
  t.equal(requests.length, 3)
  for (const { headers, certificate } of requests) {
    t.match(headers, { authorization: 'Bearer ours', 'impersonate-user': 'alice' })
    t.equal(certificate, '')
  }
})

t.test('an impersonation of somebody’s own never has our word beside it', async t => {
  for (const passIdentity of ['headers', 'impersonate'] as const) {
    const { ask, seen } = await startSecured(t, 'delegate', { passIdentity })
    for (const name of ['Impersonate-User', 'impersonate_user', 'Impersonate-Extra-Scopes']) {
      const { status, origin } = await ask(here, 'client', { [name]: 'watchglass' })
      t.equal(origin, 'pass; reason=impersonation', `${passIdentity} ${name}`)
      t.equal(status, 403)
      for (const { headers, certificate } of seen()) {
        t.equal(certificate, '')
        t.equal(headers.authorization, undefined)
        t.equal(headers['x-remote-user'], undefined)
      }
    }
  }
})

t.test('a front proxy is believed, and only a front proxy', async t => {
  const proxied = await startSecured(t, 'requestheader', {
    frontProxies: () => frontProxies,
    passIdentity: 'headers',
  })
  const { ask, seen } = proxied
  const named = { 'X-Remote-User': 'bob', 'X-Remote-Group': ['one', 'two, three'] }
  t.match(await ask(here, 'front-proxy', named), { status: 200, origin: 'mirror; revision=N' })
  const [review] = seen()
  t.match(review, {
    url: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    certificate: '',
    headers: { authorization: 'Bearer ours' },
  })
  t.match(await ask(elsewhere, 'front-proxy', named), { status: 403, body: /User \\"bob\\"/ })
  const passed = seen().at(-1)!
  t.match(passed, { certificate: 'front-proxy', headers: { 'x-remote-user': 'bob' } })
  const groups = passed.rawHeaders.filter((_, i, all) => /group$/i.test(all[i - 1] ?? ''))
  t.strictSame(groups, ['one', 'two, three', 'system:authenticated'])

  await ask(here, 'front-proxy', { ...named, 'Impersonate-User': 'carol' })
  const impersonation = seen().at(-1)!
  t.match(impersonation, { certificate: 'front-proxy', headers: { 'x-remote-user': 'bob' } })
  t.equal(impersonation.headers['impersonate-user'], 'carol')

  t.match(await ask(here, 'client', named), { status: 200 }, 'alice, who is not bob')
  t.match(await ask(elsewhere, 'client', named), { status: 403, body: /User \\"alice\\"/ })
  for (const [certificate, headers] of [
    [undefined, named],
    ['false-proxy', named],
    ['front-proxy', {}],
  ] as const) {
    const answer = await ask(here, certificate, headers)
    t.match(answer, { status: 403, origin: 'pass; reason=unauthenticated' })
    t.match(answer.body, 'system:anonymous')
  }
  const bearer = { authorization: 'Bearer carol' }
  t.match(await ask(here, undefined, bearer), { status: 403, body: /User \\"carol\\"/ })
})

t.test('front proxies of other names are not believed', async t => {
  const { ask } = await startSecured(t, 'requestheader', {
    frontProxies: () => ({ ...frontProxies, allowedNames: ['aggregator'] }),
    passIdentity: 'headers',
  })
  const answer = await ask(here, 'front-proxy', { 'X-Remote-User': 'bob' })
  t.match(answer, { status: 403, body: /system:anonymous/ })
})
