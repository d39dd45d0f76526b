import t from 'tap'
import {
  type ExpressionWarning,
  kindsToCheck,
  typeWarnings,
} from '../../../lib/writes/admission/policies/type-check.ts'
import { type JsonValue, parseTree } from '../../../lib/go/json/tree.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'

const schema = schemaOf('1.36')
const kinds = { schema, resources: builtInResources(schema) }

function treeOf(value: object): JsonValue {
  const bytes = Buffer.from(JSON.stringify(value))
  return parseTree(bytes, 0, bytes.length) as JsonValue
}

function rule(group: string, version: string, ...resources: string[]): object {
  return { apiGroups: [group], apiVersions: [version], resources }
}

const deployments = rule('apps', 'v1', 'deployments')

function warningsOf(spec: object, rules: readonly object[] = [deployments]): ExpressionWarning[] {
  const steps = typeWarnings(
    treeOf({ matchConstraints: { resourceRules: rules }, ...spec }),
    kinds,
    7,
  )
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

t.test('the kinds of a policy are those that its rules name without stars', t => {
  const named = (...resourceRules: object[]): string[] =>
    kindsToCheck(treeOf({ matchConstraints: { resourceRules } }), kinds).map(
      ({ group, version, kind }) => `${group}/${version} ${kind}`,
    )
  const pods = rule('', 'v1', 'pods')
  t.strictSame(kindsToCheck(treeOf({}), kinds), [])
  t.strictSame(named(deployments), ['apps/v1 Deployment'])
  t.strictSame(named(deployments, pods), ['/v1 Pod', 'apps/v1 Deployment'])
  t.strictSame(named(rule('apps', 'v1', '*')), [])
  t.strictSame(named(rule('', 'v1', 'pods/*', 'pods/status', 'services')), ['/v1 Service'])
  t.strictSame(named(deployments, rule('apps', '*', 'statefulsets')), ['apps/v1 Deployment'])
  t.strictSame(named(rule('*', 'v1', 'pods')), [])
  t.strictSame(named(rule('apps', 'v1', 'unknowns'), rule('apps', 'v7', 'deployments')), [])
  t.strictSame(named(rule('apps', 'v1', 'Deployment')), ['apps/v1 Deployment'])
  // To whoever looks kinds up, no group is any group.
  t.strictSame(named(rule('', 'v1', 'events')), ['/v1 Event', 'events.k8s.io/v1 Event'])
  const many = {
    apiGroups: ['', 'apps'],
    apiVersions: ['v1'],
    resources: [
      'configmaps',
      'controllerrevisions',
      'daemonsets',
      'deployments',
      'endpoints',
      'limitranges',
      'pods',
      'replicasets',
      'secrets',
      'services',
      'statefulsets',
    ],
  }
  t.equal(named(many, rule('batch', 'v1', 'jobs')).length, 10, 'no more')
  t.end()
})

interface Row {
  readonly says: string
  readonly expression: string
  readonly spec?: object
  readonly rules?: readonly object[]
  /** The text behind the place; none where it fits. */
  readonly problem?: string
}

const overload = (name: string, types: string): string =>
  `found no matching overload for '${name}' applied to '${types}'`

const rows: readonly Row[] = [
  { says: 'a field of its type', expression: 'object.spec.replicas > 1' },
  {
    says: 'a field of another type',
    expression: "object.spec.replicas > '1'",
    problem: `1:22: ${overload('_>_', '(int, string)')}`,
  },
  {
    says: 'a field that is not there',
    expression: 'object.spec.foo == 1',
    problem: "1:12: undefined field 'foo'",
  },
  { says: 'an old object', expression: 'oldObject.spec.replicas == 1' },
  {
    says: 'metadata',
    expression:
      "object.metadata.labels['a'] == 'b' && object.metadata.creationTimestamp < timestamp('2024-01-01T00:00:00Z')",
  },
  {
    says: 'items of lists',
    expression: 'object.spec.template.spec.containers.all(c, c.image == 1)',
    problem: `1:53: ${overload('_==_', '(string, int)')}`,
  },
  {
    says: 'objects by the names of their types',
    expression: 'object.spec == 1',
    problem: `1:13: ${overload('_==_', '(Deployment7.spec, int)')}`,
  },
  {
    says: 'a number or a text',
    expression: "object.spec.strategy.rollingUpdate.maxSurge == '25%'",
  },
  {
    says: 'a quantity, which is not declared',
    expression: 'has(object.spec.template.spec.containers[0].resources.limits)',
    problem: "1:4: undefined field 'limits'",
  },
  {
    says: 'bytes',
    expression: "object.data['a'] == b'x'",
    rules: [rule('', 'v1', 'secrets')],
  },
  {
    says: 'a type that contains itself',
    expression: 'has(object.spec.versions[0].schema.openAPIV3Schema.items)',
    rules: [rule('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')],
    problem: "1:4: undefined field 'items'",
  },
  {
    says: 'parameters of a kind that is known',
    expression: "params.data['a'] == 1",
    spec: { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } },
    problem: `1:18: ${overload('_==_', '(string, int)')}`,
  },
  {
    says: 'parameters of a kind that is not',
    expression: 'params.anything == 1',
    spec: { paramKind: { apiVersion: 'example.com/v1', kind: 'Config' } },
  },
  {
    says: 'no parameters',
    expression: 'params == null',
    problem: "1:1: undeclared reference to 'params' (in container '')",
  },
  {
    says: 'who may do what',
    expression: "authorizer.group('').resource('endpoints').check('create').allowed()",
  },
  {
    says: 'what cannot be asked of it',
    expression: 'authorizer.allowed()',
    problem: `1:19: ${overload('allowed', 'kubernetes.authorization.Authorizer.()')}`,
  },
  {
    says: 'variables by the types of their expressions',
    expression: 'variables.name == object.spec.replicas',
    spec: { variables: [{ name: 'name', expression: "'something'" }] },
    problem: `1:16: ${overload('_==_', '(string, int)')}`,
  },
  {
    says: 'variables that are numbers',
    expression: 'variables.number == object.spec.paused',
    spec: { variables: [{ name: 'number', expression: '1.5' }] },
    problem: `1:18: ${overload('_==_', '(double, bool)')}`,
  },
  {
    says: 'variables that are not there',
    expression: 'variables.other',
    spec: { variables: [{ name: 'name', expression: 'true' }] },
    problem: "1:10: undefined field 'other'",
  },
  {
    says: 'variables that hold objects, and those that do not fit',
    expression: 'variables.spec.anything == variables.wrong',
    spec: {
      variables: [
        { name: 'spec', expression: 'object.spec' },
        { name: 'wrong', expression: 'object.spec.foo' },
      ],
    },
  },
  { says: 'a result of any type', expression: 'object.spec.replicas' },
  {
    says: 'resources that are not there',
    expression: 'object.foo == 1',
    rules: [rule('apps', 'v1', 'unknowns')],
  },
]

t.test('an expression is checked by the types of a kind', t => {
  for (const { says, expression, spec = {}, rules, problem } of rows) {
    const found = warningsOf({ validations: [{ expression }], ...spec }, rules)
    const texts = found.map(({ warning }) => warning.split('\n')[0]?.replace(/^.*<input>:/, ''))
    t.strictSame(texts, problem === undefined ? [] : [problem], says)
  }
  t.end()
})

t.test('a warning says which expression does not fit for which kinds', t => {
  const validations = [
    { expression: 'has(object.spec)' },
    {
      expression: "object.spec.replicas > '1'",
      messageExpression: "'got ' + object.spec.replicas",
    },
  ]
  const shown = (column: number, problem: string, source: string): string =>
    `ERROR: <input>:1:${column}: ${problem}\n | ${source}\n | ${'.'.repeat(column - 1)}^\n`
  const condition = "object.spec.replicas > '1'"
  const both = ['apps/v1, Kind=DaemonSet', 'apps/v1, Kind=Deployment']
  t.strictSame(warningsOf({ validations }, [rule('apps', 'v1', 'deployments', 'daemonsets')]), [
    {
      fieldRef: 'spec.validations[1].expression',
      warning: [
        `${both[0]}: ${shown(12, "undefined field 'replicas'", condition)}`,
        `${both[1]}: ${shown(22, overload('_>_', '(int, string)'), condition)}`,
      ].join('\n'),
    },
    {
      fieldRef: 'spec.validations[1].messageExpression',
      warning: [
        `${both[0]}: ${shown(21, "undefined field 'replicas'", "'got ' + object.spec.replicas")}`,
        `${both[1]}: ${shown(8, overload('_+_', '(string, int)'), "'got ' + object.spec.replicas")}`,
      ].join('\n'),
    },
  ])
  t.end()
})

t.test('what is checked altogether is bounded, and so are the warnings', t => {
  const rules = [
    rule('', 'v1', 'configmaps', 'endpoints', 'limitranges', 'pods', 'secrets'),
    rule('apps', 'v1', 'daemonsets', 'deployments', 'replicasets'),
    rule('batch', 'v1', 'jobs', 'cronjobs'),
    rule('networking.k8s.io', 'v1', 'ingresses'),
  ]
  const countOf = (expression: string): number => {
    const warnings = warningsOf({ validations: [{ expression }] }, rules)
    return warnings.flatMap(({ warning }) => warning.split('Kind=').slice(1)).length
  }
  t.equal(countOf("object.foo == 'a'"), 11)
  t.equal(countOf(`object.foo == '${'a'.repeat(290_000)}'`), 10)
  t.equal(countOf(Array.from({ length: 60 }, () => 'object.foo').join(' == ')), 6)
  t.end()
})

interface Answer {
  readonly metadata: {
    readonly generation: number
    readonly managedFields: readonly Readonly<Record<string, string>>[]
  }
  readonly status?: {
    readonly observedGeneration?: number
    readonly typeChecking?: { readonly expressionWarnings?: readonly ExpressionWarning[] }
  }
}

t.test('the status of a policy has the warnings, also about custom kinds', async t => {
  const { send, until } = await startSimulatedCluster<Answer>(t)
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  const openAPIV3Schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { replicas: { type: 'integer' } } },
    },
  }
  const { code } = await send('POST', definitions, {
    metadata: { name: 'crontabs.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'crontabs', singular: 'crontab', kind: 'CronTab' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  })
  t.equal(code, 201)
  await until('/apis/example.com/v1/crontabs', answer => answer.code === 200)
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
  const policyOf = (expressions: readonly string[]): object => ({
    metadata: { name: 'p' },
    spec: {
      matchConstraints: {
        resourceRules: [{ ...rule('example.com', 'v1', 'crontabs'), operations: ['*'] }],
      },
      validations: expressions.map(expression => ({ expression })),
    },
  })
  t.equal((await send('POST', policies, policyOf(['object.spec.replicas > 1']))).code, 201)
  const path = `${policies}/p`
  const fine = await until(path, ({ status }) => status?.typeChecking !== undefined)
  t.strictSame(fine.status, { observedGeneration: 1, typeChecking: {} })
  const writers = fine.metadata.managedFields.map(
    ({ manager, operation, subresource }) => `${manager} ${operation} ${subresource}`,
  )
  t.ok(writers.includes('validatingadmissionpolicy-status Apply status'))
  const wrong = ["object.spec.replicas > '1'", 'object.spec.maxRetries < 10', "object.kind == 'a'"]
  await send('PATCH', path, policyOf([...wrong, "object.metadata.labels['a'] == 'b'"]))
  const { status } = await until(path, ({ status }) => status?.observedGeneration === 2)
  t.match(status?.typeChecking?.expressionWarnings, [
    { fieldRef: 'spec.validations[0].expression', warning: /\(int, string\)/ },
    { fieldRef: 'spec.validations[1].expression', warning: /^example\.com\/v1, Kind=CronTab: / },
  ])
  t.equal(status?.typeChecking?.expressionWarnings?.length, 2)
})
