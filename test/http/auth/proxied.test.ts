import t from 'tap'
import { createGuard } from '../../support/upstream/guard.ts'
import { answeredHere, configMap, originOf, startProxied } from '../../support/upstream/proxied.ts'
import type { Binding } from '../../support/upstream/rules.ts'
import { identity } from '../../support/upstream/reviews.ts'

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
  const registry = () => upstream.service.registry.state.registry
  upstream.before = createGuard({ users, registry, bindings: () => [admin, ...bindings] })
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
