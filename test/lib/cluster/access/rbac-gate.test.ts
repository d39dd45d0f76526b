import { readFileSync } from 'node:fs'
import * as https from 'node:https'
import t from 'tap'
import { Callers } from '../../../../lib/http/auth/callers.ts'
import { authoritiesOf } from '../../../../lib/http/server/authorities.ts'
import { systemClock } from '../../../../lib/ops/system.ts'
import { rbacOf } from '../../../support/http/rbac.ts'
import { ask, startServed } from '../../../support/http/served.ts'

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
