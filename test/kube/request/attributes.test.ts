import t from 'tap'
import { attributesOf, type ResourceAttributes } from '../../../lib/kube/request/attributes.ts'
import { selfReview } from '../../../lib/kube/access-review.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'

function attributes(url: string): ResourceAttributes {
  const target = parseTarget(url)
  if (target === undefined) throw new Error(url)
  const attributes = attributesOf('GET', target)
  if ('path' in attributes) throw new Error(`${url} is no request for a resource`)
  return attributes
}

t.test('a request is about what its path names', async t => {
  t.match(attributes('/apis/apps/v1/namespaces/a/deployments/web/status'), {
    verb: 'get',
    group: 'apps',
    version: 'v1',
    resource: 'deployments',
    subresource: 'status',
    namespace: 'a',
    name: 'web',
  })
  t.match(attributes('/api/v1/pods'), { verb: 'list', namespace: '', name: '' })
  t.match(attributes('/api/v1/pods?watch=1'), { verb: 'watch' })
  t.match(attributes('/api/v1/pods?watch=false'), { verb: 'list' })
  t.match(attributes('/api/v1/watch/namespaces/a/pods'), { verb: 'watch', namespace: 'a' })
})

t.test('a namespace lies in itself, all namespaces lie nowhere', async t => {
  t.match(attributes('/api/v1/namespaces/a'), { namespace: 'a', name: 'a' })
  t.match(attributes('/api/v1/namespaces'), { namespace: '', name: '' })
})

t.test('a list that selects one name is about that name', async t => {
  const named = '/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dx'
  t.match(attributes(named), { verb: 'list', name: 'x' })
  t.match(attributes(`${named}&watch=true`), { verb: 'watch', name: 'x' })
  t.match(attributes('/api/v1/pods?fieldSelector=metadata.name!%3Dx'), { name: '' })
  t.match(attributes('/api/v1/pods?fieldSelector=metadata.name%3D..'), { name: '' })
  t.match(attributes(`${named}&labelSelector=a%20b`), { name: '' }, 'not with what is malformed')
  t.match(attributes('/api/v1/watch/pods?fieldSelector=metadata.name%3Dx'), { name: '' })
})

t.test('selectors are told by their requirements, and limit nothing when malformed', async t => {
  const both =
    '/api/v1/pods?fieldSelector=spec.nodeName%3Da,status.phase!%3Db&labelSelector=a+in+(x,y),!b,c,d!%3De,f>3'
  t.strictSame(attributes(both).fields, [
    { key: 'spec.nodeName', operator: 'In', values: ['a'] },
    { key: 'status.phase', operator: 'NotIn', values: ['b'] },
  ])
  t.strictSame(attributes(both).labels, [
    { key: 'a', operator: 'In', values: ['x', 'y'] },
    { key: 'b', operator: 'DoesNotExist', values: [] },
    { key: 'c', operator: 'Exists', values: [] },
    { key: 'd', operator: 'NotIn', values: ['e'] },
  ])
  t.strictSame(attributes('/api/v1/pods?fieldSelector=x').fields, [])
  t.strictSame(attributes('/api/v1/watch/pods?labelSelector=a').labels, [])
})

t.test('a review says no more than there is', async t => {
  const review = JSON.parse(selfReview(attributes('/api/v1/pods?labelSelector=a'))) as unknown
  t.strictSame(review, {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: {
      resourceAttributes: {
        verb: 'list',
        version: 'v1',
        resource: 'pods',
        labelSelector: { requirements: [{ key: 'a', operator: 'Exists' }] },
      },
    },
  })
})
