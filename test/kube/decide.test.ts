import t from 'tap'
import { decide, type Decision, type DecisionPolicy } from '../../lib/kube/decide.ts'
import { KnownRequest } from '../../lib/kube/recent-requests.ts'
import { parseTarget } from '../../lib/kube/request/request.ts'
import { routeRequest } from '../../lib/kube/request/routes.ts'
import { registryAt } from '../support/kube/kube-golden.ts'

const registry = registryAt(708)

interface Asked {
  readonly method?: string
  readonly headers?: readonly string[]
  readonly accept?: string
  readonly policy?: Partial<DecisionPolicy>
}

function decided(target: string, asked: Asked = {}): Decision {
  const parsed = parseTarget(target)!
  const route = routeRequest(asked.method ?? 'GET', parsed.path, registry)
  return decide(
    {
      known: new KnownRequest(parsed, route),
      request: { headers: Object.fromEntries((asked.headers ?? []).map(name => [name, 'x'])) },
      accept: asked.accept ?? '',
    },
    { hasUpstream: true, isExcluded: () => false, ...asked.policy },
  )
}

function reasonOf(target: string, asked: Asked = {}): string {
  const decision = decided(target, asked)
  return decision.type === 'pass' ? decision.reason : decision.type
}

t.test('in front of an upstream only exact reads are answered from the mirror', async t => {
  const cases: readonly (readonly [string, string, Asked?])[] = [
    ['/api/v1/pods?limit=5&resourceVersion=0', 'mirror'],
    ['/api/v1/pods?watch=1&allowWatchBookmarks=true', 'mirror'],
    ['/api/v1/namespaces/a/pods/p', 'mirror'],
    ['/apis/example.com/v1/widgets', 'mirror'],
    ['/api/v1/pods?shardSelector=x', 'mirror'],
    ['/api/v1/pods?shardSelectors=x', 'parameter'],
    ['/api/v1/pods', 'impersonation', { headers: ['Impersonate-User'] }],
    ['/api/v1/pods', 'impersonation', { headers: ['impersonate_group'] }],
    ['/api/v1/pods', 'credentials', { headers: ['authorization'], policy: { isOneUser: true } }],
    ['/api/v1/pods', 'mirror', { headers: ['authorization'] }],
    ['/api/v1/pods', 'mirror', { policy: { isOneUser: true } }],
    ['/api/v1/pods', 'media-type', { accept: 'text/html' }],
    ['/api/v1/pods', 'switched-off', { policy: { readSwitch: { isSwitchedOff: true } } }],
    [
      '/api/v1/secrets',
      'excluded',
      { policy: { isExcluded: ({ resource }) => resource === 'secrets' } },
    ],
    ['/api/v1/namespaces/a/pods', 'write', { method: 'POST' }],
    ['/api/v1/namespaces/a/pods/p/log', 'subresource'],
    ['/api/v1/namespaces/a/pods/p/status', 'subresource'],
    ['/apis/apps/v1/namespaces/a/deployments/d/scale', 'mirror'],
    ['/apis/apps/v1/namespaces/a/deployments/d/scale', 'write', { method: 'PUT' }],
    ['/api/v1/componentstatuses', 'not-stored'],
    ['/api/v1/namespaces//pods', 'path'],
    ['/api/v1/namespaces/a/pods/a%2Fb', 'path'],
    ['/apis/ext.example.com/v1alpha1/things', 'other-server'],
    ['/api/v1/foos', 'unknown-resource'],
    ['/api/v1/pods', 'unknown-resource', { method: 'PATCH' }],
    ['/apis/nope/v1/x', 'unknown-resource'],
    ['/version', 'not-a-resource'],
    ['/openapi/v3', 'not-a-resource'],
    ['/api', 'not-a-resource'],
  ]
  for (const [target, expected, asked] of cases) {
    t.equal(reasonOf(target, asked), expected, target)
  }
})

t.test('alone, what only an upstream can do is refused, and the rest is our own', async t => {
  const alone = (target: string, method = 'GET'): Decision =>
    decided(target, { method, policy: { hasUpstream: false } })
  const cases: readonly (readonly [string, string, string?])[] = [
    ['/api/v1/pods?shardSelector=x', 'mirror'],
    ['/api/v1/namespaces//pods', 'mirror'],
    ['/api/v1/namespaces/a/pods/p/status', 'mirror'],
    ['/api/v1/namespaces/a/pods/p/ephemeralcontainers', 'mirror'],
    ['/api/v1/namespaces/a/pods/p/resize', 'mirror'],
    ['/apis/certificates.k8s.io/v1/certificatesigningrequests/c/approval', 'mirror'],
    ['/api/v1/namespaces/a/pods/p/log', 'refuse'],
    ['/api/v1/namespaces/a/pods/p/status', 'refuse', 'PUT'],
    ['/api', 'own'],
    ['/healthz', 'own'],
    ['/api/v1/foos', 'refuse'],
    ['/apis/nope/v1/x', 'unknown'],
    ['/apis/ext.example.com/v1alpha1/things', 'unavailable'],
    ['/api/v1/namespaces/a/pods', 'refuse', 'POST'],
    ['/api/v1/componentstatuses', 'refuse'],
  ]
  for (const [target, expected, method] of cases) {
    t.equal(alone(target, method).type, expected, target)
  }
  const refused = alone('/api/v1/namespaces/a/pods/p/log')
  t.strictSame(refused.type === 'refuse' && refused.status, {
    code: 405,
    message: 'subresource log of "pods" needs an upstream API server: it is not done here',
    reason: 'MethodNotAllowed',
    details: { group: '', kind: 'pods' },
  })
})

t.test('alone and writable, each request goes where kube-apiserver would take it', async t => {
  const patch = 'application/merge-patch+json'
  const cbor = 'application/apply-patch+cbor'
  const writable = { hasUpstream: false, hasCluster: true }
  const pod = '/api/v1/namespaces/a/pods/p'
  const widget = '/apis/example.com/v1/namespaces/a/widgets/w'
  const answers: readonly (readonly [string, string, string, string?, Partial<DecisionPolicy>?])[] =
    [
      ['GET', `${pod}/log`, 'cluster'],
      ['GET', `${pod}/exec`, 'cluster'],
      ['POST', `${pod}/attach`, 'cluster'],
      ['GET', `${pod}/portforward`, 'cluster'],
      ['GET', `${pod}/proxy`, 'cluster'],
      ['PATCH', `${pod}/proxy/a/b`, 'cluster', 'text/plain'],
      ['DELETE', '/api/v1/nodes/n/proxy', 'cluster'],
      ['POST', '/api/v1/namespaces/a/services/s/proxy', 'cluster'],
      ['GET', pod, 'mirror'],
      ['GET', `${pod}/status`, 'mirror'],
      ['POST', '/api/v1/namespaces/a/pods', 'cluster'],
      ['PUT', pod, 'cluster'],
      ['PUT', `${pod}/status`, 'cluster'],
      ['POST', `${pod}/binding`, 'cluster'],
      ['POST', `${pod}/eviction`, 'cluster'],
      ['PUT', '/api/v1/namespaces/a/finalize', 'cluster'],
      ['POST', '/api/v1/namespaces/a/serviceaccounts/s/token', 'cluster'],
      ['PUT', '/apis/apps/v1/namespaces/a/deployments/d/scale', 'cluster'],
      ['GET', '/apis/apps/v1/namespaces/a/deployments/d/scale', 'mirror'],
      ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', 'cluster'],
      ['GET', '/api/v1/componentstatuses', 'needs an upstream'],
      ['PATCH', pod, 'cluster', patch],
      ['PATCH', pod, 'cluster', `${patch}; charset=utf-8`],
      ['PATCH', pod, 'cluster', `text/plain, ${patch}`],
      ['PATCH', pod, 'cluster', 'application/json-patch+json'],
      ['PATCH', pod, 'cluster', 'application/strategic-merge-patch+json'],
      ['PATCH', pod, 'cluster', 'application/apply-patch+yaml'],
      ['PATCH', pod, '415: Unsupported Media Type', 'text/plain'],
      ['PATCH', pod, '415: Unsupported Media Type', ''],
      ['PATCH', pod, '415: Unsupported Media Type', cbor],
      ['PATCH', pod, 'cluster', cbor, { hasCbor: true }],
      ['PATCH', pod, '415: Unsupported Media Type', 'text/plain', { hasCbor: true }],
      ['PATCH', widget, 'cluster', 'text/plain'],
      ['PUT', pod, 'needs an upstream', '', { hasCluster: false }],
      ['GET', `${pod}/log`, 'needs an upstream', '', { hasCluster: false }],
      ['GET', `${pod}?labelSelector=${'a'.repeat(8193)}`, 'labelSelector is longer than 8192'],
      ['GET', `${pod}?fieldSelector=${'a'.repeat(8193)}`, 'fieldSelector is longer than 8192'],
      ['GET', `${pod}?labelSelector=${'a'.repeat(8192)}`, 'mirror'],
    ]
  for (const [method, target, expected, type = '', policy] of answers) {
    const parsed = parseTarget(target)!
    const route = routeRequest(method, parsed.path, registry)
    const decision = decide(
      {
        known: new KnownRequest(parsed, route),
        request: { headers: type === '' ? {} : { 'content-type': type } },
        accept: '',
      },
      { isExcluded: () => false, ...writable, ...policy },
    )
    const found = decision.type === 'refuse' ? decision.status.message : decision.type
    t.ok(found.includes(expected), `${method} ${target.slice(0, 90)} ${type}: ${found}`)
  }
  t.equal(reasonOf(`${pod}?labelSelector=${'a'.repeat(8193)}`), 'parameter')
  t.equal(reasonOf(`${pod}?fieldSelector=${'a'.repeat(8193)}`), 'parameter')
})
