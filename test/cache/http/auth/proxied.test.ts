import t from 'tap'
import { systemClock } from '../../../../lib/cache/ops/system.ts'
import { ask, type HttpAnswer } from '../../../support/http/served.ts'
import { createGuard } from '../../../support/upstream/guard.ts'
import {
  answeredHere,
  configMap,
  originOf,
  startProxied,
} from '../../../support/upstream/proxied.ts'
import { type Binding, bindingsFromEtcd } from '../../../support/upstream/rules.ts'
import { identity } from '../../../support/upstream/reviews.ts'
import { moment } from '../../../support/http/moment.ts'
import { patient } from '../../../support/patience.ts'

const admin: Binding = {
  subjects: ['watchglass'],
  namespace: '',
  rules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { verbs: ['*'], nonResourceURLs: ['*'] },
  ],
}

const users = new Map([
  ['alice', identity('alice')],
  ['root', identity('root', 'system:masters')],
  ['ours', identity('watchglass')],
])

t.test('what the upstream has not plainly allowed passes to it', async t => {
  let bindings: Binding[] = []
  const proxied = await startProxied(t, {
    access: { mode: 'delegate' },
    token: async () => 'ours',
    objects: [
      ['/api/v1/namespaces/a/configmaps', configMap('x', '1')],
      ['/api/v1/namespaces/b/configmaps', configMap('x', '2')],
    ],
  })
  const { upstream, service, get } = proxied
  upstream.before = createGuard({ users, bindings: () => [admin, ...bindings] })
  await answeredHere({ service }, '', 'v1', 'configmaps')
  const as = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
  const [a, b] = ['a', 'b'].map(namespace => `/api/v1/namespaces/${namespace}/configmaps`)
  const rules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]
  bindings = [{ subjects: ['alice'], namespace: 'a', rules }]

  const allowed = await get(a!, as('alice'))
  t.equal(allowed.status, 200)
  t.equal(originOf(allowed), 'mirror; revision=N')

  const denied = await get(b!, as('alice'))
  t.equal(denied.status, 403)
  t.equal(originOf(denied), 'pass; reason=denied')
  t.match(denied.body.toString(), 'User \\"alice\\" cannot list resource')

  const anonymous = await get(a!)
  t.equal(anonymous.status, 403)
  t.equal(originOf(anonymous), 'pass; reason=unauthenticated')
  t.match(anonymous.body.toString(), 'system:anonymous')

  const stranger = await get(a!, as('stranger'))
  t.equal(stranger.status, 401)
  t.equal(originOf(stranger), 'pass; reason=review-refused')

  const acting = await get(a!, { ...as('root'), 'impersonate-user': 'alice' })
  t.equal(acting.status, 200)
  t.equal(originOf(acting), 'pass; reason=impersonation')

  upstream.fault = ({ url }) =>
    url.endsWith('accessreviews') ? { type: 'answer', answer: { code: 500, body: '' } } : undefined
  const unreviewed = await get(`${a}?labelSelector=x`, as('alice'))
  t.equal(unreviewed.status, 200)
  t.equal(originOf(unreviewed), 'pass; reason=review-failed')
})

t.test(
  'with the upstream gone, whoever was allowed a moment ago reads on, and no other',
  async t => {
    let aheadMs = 0
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs }
    const proxied = await startProxied(t, {
      // Each read is asked about: what lasts is the yes that has expired.
      access: { mode: 'delegate', allowMs: 1 },
      token: async () => 'ours',
      objects: [['/api/v1/namespaces/a/configmaps', configMap('x', '1')]],
      service: { adminListen: { protocol: 'http', host: '127.0.0.1', port: 0 }, clock },
    })
    const { upstream, service, get } = proxied
    const bindings = [admin, { ...admin, subjects: ['alice', 'root'] }]
    upstream.before = createGuard({ users, bindings: () => bindings })
    await answeredHere({ service }, '', 'v1', 'configmaps')
    // A yes of the first seconds, when rules have just been read, does not last.
    aheadMs = 10_000
    const as = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
    const path = '/api/v1/namespaces/a/configmaps'
    const ofAnyAge = `${path}?resourceVersion=0`
    for (const one of [path, ofAnyAge]) t.equal((await get(one, as('alice'))).status, 200)
    await upstream.down()
    // Its version, discovery and forms are asked for again, and have no answer.
    service.knowledge!.upstreamIsBack()
    for (let i = 0; i < 3; i++) {
      for (const one of [path, ofAnyAge]) {
        const answer = await get(one, as('alice'))
        t.equal(answer.status, 200, one)
        t.equal(originOf(answer), 'mirror; revision=N', one)
      }
      await moment()
    }
    t.equal((await get(ofAnyAge, as('root'))).status, 503, 'nobody can be asked about them')
    t.equal((await get(`${path}/x`, as('alice'))).status, 503, 'nor about another question')
    const { body } = await ask(service.adminPort, { path: '/readyz?verbose' })
    const address = new URL(upstream.url).host
    t.match(body.toString(), `[-]upstream failed: ${address}: ECONNREFUSED`)
  },
)

t.test(
  'a RoleBinding that is deleted through the proxy ends the watches that it allowed',
  // Watches are checked without a reason, too, but not before four minutes have passed.
  { timeout: patient(60_000) },
  async t => {
    const proxied = await startProxied(t, {
      access: { mode: 'delegate' },
      token: async () => 'ours',
      objects: [['/api/v1/namespaces/a/configmaps', configMap('x', '1')]],
    })
    const { upstream, service, client, port } = proxied
    const bindings = async (): Promise<Binding[]> => [admin, ...(await bindingsFromEtcd(client))]
    upstream.before = createGuard({ users, bindings })
    await answeredHere({ service }, '', 'v1', 'configmaps')
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/a'
    const authorization = 'Bearer root'
    const create = async (resource: string, object: object): Promise<void> => {
      const headers = { authorization, 'content-type': 'application/json' }
      const body = JSON.stringify({ apiVersion: 'rbac.authorization.k8s.io/v1', ...object })
      const { status } = await ask(port, {
        method: 'POST',
        path: `${rbac}/${resource}`,
        headers,
        body,
      })
      t.equal(status, 201, resource)
    }
    const path = '/api/v1/namespaces/a/configmaps'
    const alice = { authorization: 'Bearer alice' }
    const get = (): Promise<HttpAnswer> => ask(port, { path, headers: alice })
    t.equal((await get()).status, 403)
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }]
    await create('roles', { kind: 'Role', metadata: { name: 'reader' }, rules })
    await create('rolebindings', {
      kind: 'RoleBinding',
      metadata: { name: 'alice' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'alice' }],
      roleRef: { kind: 'Role', apiGroup: 'rbac.authorization.k8s.io', name: 'reader' },
    })
    t.equal((await get()).status, 200, 'at once, though a no is known here')
    while (originOf(await get()).startsWith('pass')) await moment()
    const watching = ask(port, { path: `${path}?watch=1`, headers: alice })
    while (service.openWatches === 0) await moment()
    const deletion = { method: 'DELETE', path: `${rbac}/rolebindings/alice` }
    t.equal((await ask(port, { ...deletion, headers: { authorization } })).status, 200)
    const { body } = await watching
    t.match(body.toString(), '"type":"ADDED"')
    const denied = await get()
    t.equal(denied.status, 403)
    t.equal(originOf(denied), 'pass; reason=denied')
  },
)
