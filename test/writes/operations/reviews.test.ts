import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { textInOrder } from '../../../lib/go/json/tree.ts'
import { StatusError } from '../../../lib/kube/status.ts'
import { review } from '../../../lib/writes/operations/reviews.ts'
import { treeOf } from '../recorded/load.ts'

const user = { user: 'alice', uid: 'u-alice', groups: ['dev'], extra: { scopes: ['a'] } }

/** The answer as text, or the message of the refusal. */
function answered(kind: string, object: object, namespace = ''): string {
  const group = /Token|SelfSubjectReview/.test(kind) ? 'authentication' : 'authorization'
  const apiVersion = `${group}.k8s.io/v1`
  const schema = schemaOf('1.36')
  const session = {
    kind: {
      schema,
      group: `${group}.k8s.io`,
      version: 'v1',
      apiVersion,
      kind,
      resource: `${kind.toLowerCase()}s`,
      isNamespaced: namespace !== '',
      type: schema.findKind(apiVersion, kind)?.type,
      definition: undefined,
    },
    namespace,
    user,
    now: '2026-11-22T00:00:00Z',
  }
  try {
    const answer = review(session, treeOf({ metadata: {}, ...object }))
    return answer === undefined ? 'none' : textInOrder(answer)
  } catch (error) {
    if (error instanceof StatusError) return `${error.status.code} ${error.status.message}`
    throw error
  }
}

// The answers of a kube-apiserver 1.36 that authorizes everything.
t.test('everything is allowed to everybody', async t => {
  const resourceAttributes = { verb: 'list', namespace: 'x' }
  t.equal(
    answered('SelfSubjectAccessReview', { spec: { resourceAttributes } }),
    '{"metadata":{},"spec":{"resourceAttributes":{"verb":"list","namespace":"x"}},"status":{"allowed":true}}',
  )
  t.match(
    answered(
      'LocalSubjectAccessReview',
      { metadata: { namespace: 'x' }, spec: { user: 'u', resourceAttributes } },
      'x',
    ),
    /"status":{"allowed":true}}$/,
  )
  for (const fieldSelector of [
    { rawSelector: 'a=b' },
    { requirements: [{ key: 'a', operator: 'In', values: ['b'] }] },
  ]) {
    t.match(
      answered('SelfSubjectAccessReview', {
        spec: { resourceAttributes: { ...resourceAttributes, fieldSelector } },
      }),
      /"status":{"allowed":true}}$/,
    )
  }
  // Fields are owned of a review, too.
  t.match(
    answered(
      'LocalSubjectAccessReview',
      { metadata: { namespace: 'x', managedFields: [] }, spec: { user: 'u', resourceAttributes } },
      'x',
    ),
    /"status":{"allowed":true}}$/,
  )
  t.match(
    answered('SelfSubjectAccessReview', {
      metadata: { managedFields: [] },
      spec: { resourceAttributes },
    }),
    /"status":{"allowed":true}}$/,
  )
  for (const [kind, metadata, namespace, problem] of [
    ['SelfSubjectAccessReview', { name: 'a' }, undefined, 'must be empty'],
    ['SelfSubjectAccessReview', { namespace: 'x' }, undefined, 'must be empty'],
    [
      'LocalSubjectAccessReview',
      { namespace: 'x', name: 'a' },
      'x',
      'must be empty except for namespace',
    ],
  ] as const) {
    const refused = answered(kind, { metadata, spec: { user: 'u', resourceAttributes } }, namespace)
    t.match(refused, new RegExp(`^422 .*metadata: Invalid value: .*: ${problem}`))
  }
  t.equal(
    answered('SelfSubjectRulesReview', { spec: { namespace: 'x' } }),
    '{"metadata":{},"spec":{},"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}],"incomplete":false}}',
  )
})

t.test('callers are who the server takes them for', async t => {
  const info = '{"username":"alice","uid":"u-alice","groups":["dev"],"extra":{"scopes":["a"]}}'
  t.equal(
    answered('SelfSubjectReview', {}),
    `{"metadata":{"creationTimestamp":"2026-11-22T00:00:00Z"},"status":{"userInfo":${info}}}`,
  )
  t.equal(
    answered('TokenReview', { spec: { token: 't', audiences: ['b'] } }),
    `{"metadata":{},"spec":{"token":"t","audiences":["b"]},"status":{"authenticated":true,"user":${info},"audiences":["b"]}}`,
  )
  t.equal(answered('ConfigMap', {}), 'none')
})

t.test(
  'reviews that ask for nothing, or for too much, are refused in the words of the server',
  async t => {
    const neither =
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified'
    t.equal(
      answered('SelfSubjectAccessReview', {}),
      `422 .authorization.k8s.io "" is invalid: ${neither}`,
    )
    t.equal(
      answered('SubjectAccessReview', { spec: {} }),
      `422 .authorization.k8s.io "" is invalid: [${neither}, spec.user: Invalid value: "": at least one of user or group must be specified]`,
    )
    t.equal(
      answered('SelfSubjectAccessReview', {
        metadata: { name: 'x' },
        spec: {
          resourceAttributes: {
            fieldSelector: { rawSelector: 'a', requirements: [{ key: '', operator: 'In' }] },
            labelSelector: {},
          },
          nonResourceAttributes: { verb: 'get' },
        },
      }),
      '422 .authorization.k8s.io "" is invalid: [spec.nonResourceAttributes: Invalid value: {"Path":"","Verb":"get"}: cannot be specified in combination with resourceAttributes, ' +
        'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements, ' +
        'spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified, ' +
        "spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn', " +
        'spec.resourceAttributes.labelSelector.requirements: Required value: when spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required, ' +
        'metadata: Invalid value: {"name":"x"}: must be empty]',
    )
    t.equal(
      answered(
        'LocalSubjectAccessReview',
        { metadata: { namespace: 'x' }, spec: { user: 'u', resourceAttributes: { verb: 'get' } } },
        'x',
      ),
      '422 .authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
    )
    t.equal(answered('SelfSubjectRulesReview', { spec: {} }), '400 no namespace on request')
    t.equal(
      answered('TokenReview', { spec: {} }),
      '400 token is required for TokenReview in authentication',
    )
  },
)
