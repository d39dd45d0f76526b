import { readFileSync } from 'node:fs'
import * as https from 'node:https'
import t from 'tap'
import { Callers } from '../../../lib/cache/http/auth/callers.ts'
import { authoritiesOf } from '../../../lib/cache/http/server/authorities.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { issuer, rbacOf } from '../../support/http/rbac.ts'
import { ask, startServed } from '../../support/http/served.ts'

const directory = 'test/support/certs'
const file = (name: string): string => readFileSync(`${directory}/${name}`).toString()
const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const review = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'

t.test('a certificate counts before a token, and one of a stranger is nobody', async t => {
  const authorities = authoritiesOf(file('ca.pem'))
  const callers = new Callers({
    clock: systemClock,
    userAuthorities: () => authorities,
    frontProxies: () => undefined,
    passIdentity: undefined,
  })
  const { service } = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: { ...rbacOf('t,ann,u,dev'), callers },
    listen: { protocol: 'https', host: '127.0.0.1', port: 0 },
    tls: {
      certFile: `${directory}/server.pem`,
      keyFile: `${directory}/server.key`,
      authorities: () => [file('ca.pem')],
    },
  })
  await service.ready
  const who = (certificate?: string, token?: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const request = https.request(
        {
          port: service.port,
          method: 'POST',
          path: whoAmI,
          agent: false,
          ca: file('ca.pem'),
          ...(certificate === undefined
            ? {}
            : { cert: file(`${certificate}.pem`), key: file(`${certificate}.key`) }),
          headers: {
            'content-type': 'application/json',
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
        },
        response => {
          let body = ''
          response.on('data', piece => (body += String(piece)))
          response.on('end', () => resolve(`${response.statusCode} ${body}`))
        },
      )
      request.on('error', reject)
      request.end(review)
    })
  const certified = await who('client')
  t.match(certified, /^201 .*"username":"alice"/)
  t.match(certified, /"authentication.kubernetes.io\/credential-id":\["X509SHA256=[0-9a-f]{64}"\]/)
  t.match(await who('client', 't'), /"username":"alice"/, 'the certificate counts')
  t.match(await who(undefined, 't'), /"username":"ann","uid":"u","groups":\["dev","system:auth/)
  t.match(await who(undefined, 'other'), /^401 .*Unauthorized/)
  t.match(await who(), /^403 .*User \\"system:anonymous\\" cannot create/)
  t.match(await who('front-proxy'), /^401 .*Unauthorized/, 'another authority has signed it')
  t.match(await who('front-proxy', 't'), /"username":"ann"/, 'and the token counts')
})

t.test('roles decide about writes as about reads, at once', async t => {
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf('admin,root,,system:masters\nt,ann,u,'),
  })
  const { port, ready } = served.service
  await ready
  const send = async (
    token: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<number> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? undefined : JSON.stringify(body)
    return (await ask(port, { method, path, headers, body: sent })).status
  }
  const maps = '/api/v1/namespaces/default/configmaps'
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
  t.equal(await send('t', 'GET', maps), 403)
  for (const path of ['/healthz', '/livez', '/readyz']) {
    t.equal((await ask(port, { path })).status, 200, 'health is for everybody')
    t.equal(await send('t', 'GET', path), 200)
    t.equal(await send('other', 'GET', path), 401, 'but not for nobody’s token')
  }
  t.equal(await send('t', 'POST', maps, map), 403)
  t.equal(await send('admin', 'POST', maps, map), 201)
  const group = 'rbac.authorization.k8s.io'
  const binding = {
    apiVersion: `${group}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'maps' },
    roleRef: { apiGroup: group, kind: 'Role', name: 'maps' },
    subjects: [{ apiGroup: group, kind: 'User', name: 'ann' }],
  }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'delete'] }]
  const role = { apiVersion: `${group}/v1`, kind: 'Role', metadata: { name: 'maps' }, rules }
  const path = `/apis/${group}/v1/namespaces/default`
  t.equal(await send('admin', 'POST', `${path}/roles`, role), 201)
  t.equal(await send('admin', 'POST', `${path}/rolebindings`, binding), 201)
  while ((await send('t', 'GET', maps)) === 403);
  t.equal(await send('t', 'POST', maps, map), 403)
  t.equal(await send('t', 'DELETE', `${maps}/a`), 200)
  t.equal(await send('t', 'GET', '/api/v1/namespaces/kube-system/configmaps'), 403)
  t.equal(await send('admin', 'DELETE', `${path}/rolebindings/maps`), 200)
  while ((await send('t', 'GET', maps)) === 200);
  t.equal(await send('t', 'GET', maps), 403)
})

t.test('accounts may read the documents by which tokens are checked, others may not', async t => {
  const { service } = await startServed(t, {
    isWritable: true,
    hasControllers: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf('t,root,u,"system:masters"\np,plain,,'),
  })
  await service.ready
  const get = (
    path: string,
    { token, ...headers }: Record<string, string> = { token: 't' },
    method = 'GET',
  ): ReturnType<typeof ask> =>
    ask(service.port, {
      path,
      method,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
    })
  const jwks = '/openid/v1/jwks'
  const refused = await get(jwks, { token: 't', accept: 'application/json' })
  t.equal(
    refused.body.toString(),
    '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"406: Not Acceptable\\n\\nAvailable representations: application/jwk-set+json","reason":"NotAcceptable","details":{},"code":406}\n',
    'as recorded',
  )
  const keys = await get(jwks)
  t.match(keys.headers, {
    'content-type': 'application/jwk-set+json',
    'cache-control': 'public, max-age=3600',
  })
  t.match(JSON.parse(keys.body.toString()), { keys: [{ use: 'sig', kty: 'EC', alg: 'ES256' }] })
  const configuration = await get('/.well-known/openid-configuration')
  t.match(JSON.parse(configuration.body.toString()), {
    issuer,
    jwks_uri: /^https:.*\/openid\/v1\/jwks$/,
  })
  t.equal((await get(jwks, { token: 't' }, 'POST')).status, 405)
  t.match(JSON.parse((await get('/')).body.toString()), {
    paths: ['/.well-known/openid-configuration', '/api'],
  })
  t.equal((await get(jwks, { token: 'p' })).status, 403)
  const path = '/api/v1/namespaces/default/serviceaccounts/default/token'
  const body = '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest"}'
  const headers = { authorization: 'Bearer t', 'content-type': 'application/json' }
  let issued = await ask(service.port, { path, method: 'POST', headers, body })
  // The account is made for the namespace.
  while (issued.status === 404) {
    issued = await ask(service.port, { path, method: 'POST', headers, body })
  }
  const { status } = JSON.parse(issued.body.toString()) as { status: { token: string } }
  // Its account, and the rules, have to be mirrored.
  let answer = await get(jwks, { token: status.token })
  while (answer.status === 401) answer = await get(jwks, { token: status.token })
  t.equal(answer.status, 200)
})
