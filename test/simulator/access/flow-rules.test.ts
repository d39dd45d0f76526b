/** The tables follow apiserver's pkg/util/flowcontrol/match_test.go. */

import t from 'tap'
import {
  type FlowSchemaSpec,
  isClassified,
  matchesFlow,
} from '../../../lib/simulator/access/flow-rules.ts'
import type { Identity } from '../../../lib/kube/access-review.ts'
import { attributesOf } from '../../../lib/kube/request/attributes.ts'
import { parseQuery } from '../../../lib/kube/request/request.ts'

type Rule = NonNullable<FlowSchemaSpec['rules']>[number]

const ann = { user: 'ann', uid: '', groups: ['dev', 'system:authenticated'], extra: {} }
const account = { ...ann, user: 'system:serviceaccount:shop:robot' }

const everything: Rule = {
  resourceRules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
  ],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
}
const ofAnn: Rule = { subjects: [{ kind: 'User', user: { name: 'ann' } }] }

function matches(rule: Rule, path: string, user: Identity = ann, method = 'GET'): boolean {
  const attributes = attributesOf(method, { path, query: parseQuery('') })
  return matchesFlow({ rules: [rule] }, user, attributes)
}

t.test('subjects', async t => {
  for (const [subject, user, isMatched] of [
    [{ kind: 'User', user: { name: 'ann' } }, ann, true],
    [{ kind: 'User', user: { name: '*' } }, ann, true],
    [{ kind: 'User', user: { name: 'bob' } }, ann, false],
    [{ kind: 'User' }, ann, false],
    [{ kind: 'Group', group: { name: 'dev' } }, ann, true],
    [{ kind: 'Group', group: { name: '*' } }, { ...ann, groups: [] }, true],
    [{ kind: 'Group', group: { name: 'ops' } }, ann, false],
    [{ kind: 'Group' }, ann, false],
    [
      { kind: 'ServiceAccount', serviceAccount: { namespace: 'shop', name: 'robot' } },
      account,
      true,
    ],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'shop', name: '*' } }, account, true],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'sho', name: '*' } }, account, false],
    [
      { kind: 'ServiceAccount', serviceAccount: { namespace: 'shop', name: 'rob' } },
      account,
      false,
    ],
    [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'shop', name: '*' } }, ann, false],
    [{ kind: 'ServiceAccount' }, account, false],
    [{ kind: 'other' }, ann, false],
  ] as const) {
    const rule = { ...everything, subjects: [subject] }
    t.equal(matches(rule, '/api/v1/pods', user), isMatched, JSON.stringify(subject))
  }
})

t.test('resources', async t => {
  const pods = {
    verbs: ['get', 'list'],
    apiGroups: [''],
    resources: ['pods', 'pods/log'],
    namespaces: ['shop'],
  }
  for (const [rule, path, isMatched] of [
    [pods, '/api/v1/namespaces/shop/pods/a', true],
    [pods, '/api/v1/namespaces/shop/pods/a/log', true],
    [pods, '/api/v1/namespaces/shop/pods/a/status', false],
    [pods, '/api/v1/namespaces/other/pods/a', false],
    [pods, '/api/v1/pods', false],
    [{ ...pods, clusterScope: true }, '/api/v1/pods', true],
    [{ ...pods, namespaces: ['*'] }, '/api/v1/namespaces/other/pods', true],
    [{ ...pods, namespaces: ['*'] }, '/api/v1/pods', false],
    [{ ...pods, resources: ['*'] }, '/api/v1/namespaces/shop/secrets', true],
    [{ ...pods, apiGroups: ['apps'] }, '/api/v1/namespaces/shop/pods', false],
    [{ ...pods, verbs: ['create'] }, '/api/v1/namespaces/shop/pods', false],
    [{ ...pods, verbs: ['*'] }, '/api/v1/namespaces/shop/pods', true],
  ] as const) {
    const text = `${JSON.stringify(rule)} ${path}`
    t.equal(matches({ ...ofAnn, resourceRules: [rule] }, path), isMatched, text)
  }
})

t.test('paths', async t => {
  for (const [url, path, isMatched] of [
    ['*', '/version', true],
    ['/version', '/version', true],
    ['/version', '/version/more', true],
    ['/version', '/versions', false],
    ['/healthz/*', '/healthz/etcd', true],
    ['/healthz/*', '/healthz', false],
    ['/healthz/*', '/livez', false],
  ] as const) {
    const nonResourceRules = [{ verbs: ['get'], nonResourceURLs: [url] }]
    t.equal(matches({ ...ofAnn, nonResourceRules }, path), isMatched, `${url} ${path}`)
    t.notOk(matches({ ...ofAnn, nonResourceRules }, path, ann, 'POST'))
    t.notOk(matches({ ...ofAnn, nonResourceRules }, '/api/v1/pods'))
  }
})

t.test('requests that last are not classified, but watches are', async t => {
  for (const [path, query, isMeant] of [
    ['/api/v1/pods', 'watch=1', true],
    ['/api/v1/namespaces/a/pods/b', '', true],
    ['/api/v1/namespaces/a/pods/b/log', '', false],
    ['/api/v1/namespaces/a/pods/b/exec', '', false],
    ['/api/v1/namespaces/a/services/b/proxy/x', '', false],
    ['/version', '', true],
    ['/debug/pprof/heap', '', false],
  ] as const) {
    const attributes = attributesOf('GET', { path, query: parseQuery(query) })
    t.equal(isClassified(attributes), isMeant, path)
  }
})
