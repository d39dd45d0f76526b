import t from 'tap'
import { allKeys } from '../../../lib/base/keys.ts'
import { ask, caughtUp, type HttpAnswer, startServed } from '../../support/http/served.ts'

const group = '/apis/admissionregistration.k8s.io/v1'

interface Row {
  readonly says: string
  /** An apply configuration, or a patch if it begins with a bracket. */
  readonly mutations: readonly string[]
  readonly spec?: object
  readonly object?: object
  /** Members of the pod's metadata or spec that are expected; or the message of a refusal. */
  readonly expected: object | string
}

const keyed = {
  spec: { containers: [{ name: 'a', image: 'x' }] },
}
const byPolicy = (problem: string): string =>
  `policy 'p' with binding 'p' denied request: ${problem}`

const creates = {
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE'],
  resources: ['pods'],
}

const rows: readonly Row[] = [
  {
    says: 'a configuration is merged in, items of lists by their keys',
    mutations: [
      "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'b', image: 'y'}]}}",
    ],
    expected: { spec: { containers: [{ name: 'a' }, { name: 'b', image: 'y' }] } },
  },
  {
    says: 'mutations see what those before them have made',
    mutations: [
      "Object{metadata: Object.metadata{annotations: {'a': '1'}}}",
      "[JSONPatch{op: 'add', path: '/metadata/annotations/b', value: object.metadata.annotations.a + '2'}]",
    ],
    expected: { metadata: { annotations: { a: '1', b: '12' } } },
  },
  {
    says: 'a part that has no value is left out',
    mutations: [
      "Object{metadata: Object.metadata{?annotations: object.metadata.?none, labels: {'l': 'm'}}}",
    ],
    expected: { metadata: { labels: { l: 'm' } } },
  },
  {
    says: 'a patch whose test fails changes nothing',
    mutations: [
      "[JSONPatch{op: 'test', path: '/spec/nodeName', value: 'other'}, JSONPatch{op: 'remove', path: '/spec'}]",
    ],
    expected: {},
  },
  {
    says: 'values of patches are objects, lists and scalars',
    mutations: [
      "[JSONPatch{op: 'add', path: '/spec/tolerations', value: [Object.spec.tolerations{key: 'k', tolerationSeconds: 1 + 2, operator: 'Exists', effect: 'NoExecute'}]}]",
    ],
    expected: { spec: { tolerations: [{ key: 'k', tolerationSeconds: 3 }] } },
  },
  {
    says: 'the object is checked after it was changed',
    mutations: ["[JSONPatch{op: 'copy', from: '/spec/containers/0', path: '/spec/containers/-'}]"],
    expected: 'spec.containers[1].name: Duplicate value: "a"',
  },
  {
    says: 'an expression that fails refuses',
    mutations: ['Object{spec: Object.spec{nodeName: object.spec.none}}'],
    expected: byPolicy(
      "expression 'Object{spec: Object.spec{nodeName: object.spec.none}}' resulted in error: no such key: none",
    ),
  },
  {
    says: 'what fails is ignored where failures are',
    mutations: ['Object{spec: Object.spec{nodeName: object.spec.none}}'],
    spec: { failurePolicy: 'Ignore' },
    expected: {},
  },
  {
    says: 'atomic values are not replaced',
    mutations: ["Object{spec: Object.spec{nodeSelector: {'a': 'b'}}}"],
    expected: byPolicy(
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.nodeSelector',
    ),
  },
  {
    says: 'objects have the types of their places',
    mutations: ["Object{spec: Object.sepc{nodeName: 'n'}}"],
    expected: byPolicy(
      'type mismatch: unexpected type name "Object.sepc", expected "Object.spec", which matches field name path from root Object type',
    ),
  },
  {
    says: 'members must be declared',
    mutations: ["Object{spec: Object.spec{nodeNmae: 'n'}}"],
    expected: byPolicy(
      'error applying patch: failed to convert patch object to typed object: .spec.nodeNmae: field not declared in schema',
    ),
  },
  {
    says: 'members that a patch makes must be known',
    mutations: ["[JSONPatch{op: 'add', path: '/spec/nodeNmae', value: 'n'}]"],
    expected: 'Internal error occurred: strict decoding error: unknown field "spec.nodeNmae"',
  },
  {
    says: 'a value that its operation cannot have refuses',
    mutations: ["[JSONPatch{op: 'add', path: '/spec/nodeName', value: ip('1.2.3.4')}]"],
    expected: byPolicy(
      "JSONPath valueExpression evaluated to a type that could not marshal to JSON: type conversion error from 'IP' to '*structpb.Value'",
    ),
  },
  {
    says: 'conditions decide first',
    mutations: ["Object{spec: Object.spec{nodeName: 'n'}}"],
    spec: { matchConditions: [{ name: 'c', expression: "object.metadata.name == 'other'" }] },
    expected: {},
  },
  {
    says: 'rules may name objects, and this one is not named',
    mutations: ["Object{spec: Object.spec{nodeName: 'n'}}"],
    spec: { matchConstraints: { resourceRules: [{ ...creates, resourceNames: ['other'] }] } },
    expected: {},
  },
  {
    says: 'rules may name objects, and this one is named',
    mutations: ["Object{spec: Object.spec{hostname: 'named'}}"],
    spec: { matchConstraints: { resourceRules: [{ ...creates, resourceNames: ['pod'] }] } },
    expected: { spec: { hostname: 'named' } },
  },
  {
    says: 'variables are evaluated anew for each mutation',
    mutations: [
      "Object{metadata: Object.metadata{annotations: {'a': variables.count}}}",
      "Object{metadata: Object.metadata{annotations: {'b': variables.count}}}",
    ],
    spec: {
      variables: [
        { name: 'count', expression: 'string(size(object.metadata.?annotations.orValue({})))' },
      ],
    },
    expected: { metadata: { annotations: { a: '0', b: '1' } } },
  },
  {
    says: 'a result that doubles in each step is bounded',
    mutations: ['Object{data: variables.v20}'],
    spec: {
      variables: Array.from({ length: 21 }, (_, i) => ({
        name: `v${i}`,
        expression: i === 0 ? '[1]' : `[dyn(variables.v${i - 1}), dyn(variables.v${i - 1})]`,
      })),
    },
    expected: byPolicy('the value is too large'),
  },
]

t.test('mutating policies change pods by what their expressions make', async t => {
  const served = await startServed(t, { isWritable: true, basics: { rootAuthority: 'none' } })
  const send = async (method: string, path: string, body?: object): Promise<HttpAnswer> => {
    const { header } = await served.client.range({ range: allKeys, countOnly: true })
    await caughtUp(served, header.revision)
    return ask(served.service.port, {
      method,
      path,
      headers: { 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    })
  }
  await send('POST', `${group}/mutatingadmissionpolicybindings`, {
    metadata: { name: 'p' },
    spec: { policyName: 'p' },
  })
  for (const { says, mutations, spec, object = keyed, expected } of rows) {
    const policy = {
      metadata: { name: 'p' },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: { resourceRules: [creates] },
        mutations: mutations.map(expression =>
          expression.startsWith('[')
            ? { patchType: 'JSONPatch', jsonPatch: { expression } }
            : { patchType: 'ApplyConfiguration', applyConfiguration: { expression } },
        ),
        ...spec,
      },
    }
    const made = await send('POST', `${group}/mutatingadmissionpolicies`, policy)
    t.equal(made.status, 201)
    const pod = { metadata: { name: 'pod' }, ...object }
    const answer = await send('POST', '/api/v1/namespaces/default/pods?dryRun=All', pod)
    const body = JSON.parse(answer.body.toString()) as { message?: string }
    if (typeof expected === 'string') t.match(body.message, expected, says)
    else t.match(body, { kind: 'Pod', ...expected }, says)
    if (JSON.stringify(expected) === '{}') t.notMatch(body, { spec: { nodeName: /./ } }, says)
    await send('DELETE', `${group}/mutatingadmissionpolicies/p`)
  }
})
