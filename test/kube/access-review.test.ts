/** Reviews of access: which texts are asked with, and which answers are an answer. The forms are
 *  those of authentication.k8s.io/v1 and authorization.k8s.io/v1. */

import t from 'tap'
import {
  identityAnswer,
  reviewAnswer,
  selfReview,
  subjectReview,
  whoAmI,
} from '../../lib/kube/access-review.ts'
import type { Attributes } from '../../lib/kube/request/attributes.ts'

const pods: Attributes = {
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'n',
  name: '',
  fields: [],
  labels: [],
}
const bare = { user: 'u', uid: '', groups: [], extra: {} }
const shown = { verb: 'list', version: 'v1', resource: 'pods', namespace: 'n' }

t.test('what is empty is not asked', async t => {
  const one = { key: 'a', operator: 'In', values: ['b'] } as const
  const exists = { key: 'a', operator: 'Exists', values: [] } as const
  const rows: readonly (readonly [string, string, object])[] = [
    ['attributes', selfReview(pods), { resourceAttributes: shown }],
    [
      'a path',
      selfReview({ verb: 'get', path: '/x' }),
      { nonResourceAttributes: { verb: 'get', path: '/x' } },
    ],
    [
      'selectors',
      selfReview({ ...pods, fields: [one], labels: [exists] }),
      {
        resourceAttributes: {
          ...shown,
          fieldSelector: { requirements: [one] },
          labelSelector: { requirements: [{ key: 'a', operator: 'Exists' }] },
        },
      },
    ],
    ['a user', subjectReview(pods, bare), { resourceAttributes: shown, user: 'u' }],
    [
      'all of a user',
      subjectReview(pods, { user: 'u', uid: '1', groups: ['g'], extra: { k: ['v'] } }),
      { resourceAttributes: shown, user: 'u', uid: '1', groups: ['g'], extra: { k: ['v'] } },
    ],
  ]
  for (const [name, text, spec] of rows) {
    const { kind, apiVersion, spec: asked } = JSON.parse(text) as Record<string, unknown>
    t.equal(apiVersion, 'authorization.k8s.io/v1', name)
    t.equal(kind, name.includes('user') ? 'SubjectAccessReview' : 'SelfSubjectAccessReview', name)
    t.strictSame(asked, spec, name)
  }
  const own = { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' }
  t.strictSame(JSON.parse(whoAmI), own)
})

t.test('only an answer that says so allows', async t => {
  const rows: readonly (readonly [unknown, object | undefined])[] = [
    [{ status: { allowed: true } }, { isAllowed: true, reason: '' }],
    [{ status: { allowed: false, reason: 'no' } }, { isAllowed: false, reason: 'no' }],
    [{ status: { allowed: true, denied: true } }, { isAllowed: false, reason: '' }],
    [{ status: { allowed: true, denied: false } }, { isAllowed: true, reason: '' }],
    [{ status: { allowed: 'true' } }, undefined],
    [{ status: {} }, undefined],
    [{}, undefined],
    [null, undefined],
  ]
  for (const [body, answer] of rows) {
    t.strictSame(reviewAnswer(JSON.stringify(body)), answer, JSON.stringify(body))
  }
  t.equal(reviewAnswer('{'), undefined)
})

t.test('a user has a name, and the rest may be missing', async t => {
  const of = (userInfo: unknown): unknown =>
    identityAnswer(JSON.stringify({ status: { userInfo } }))
  t.strictSame(of({ username: 'u' }), bare)
  t.strictSame(of({ username: 'u', uid: '1', groups: ['g'], extra: { k: ['v'] } }), {
    user: 'u',
    uid: '1',
    groups: ['g'],
    extra: { k: ['v'] },
  })
  t.strictSame(of({ username: 'u', extra: null }), bare)
  t.strictSame(of({ username: 'u', extra: 'x' }), bare)
  t.equal(of({ username: '' }), undefined)
  t.equal(of({ uid: '1' }), undefined)
  t.equal(identityAnswer('{'), undefined)
})
