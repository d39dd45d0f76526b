import t from 'tap'
import { atOnce } from '../../../lib/base/slice.ts'
import { aggregatedRules } from '../../../lib/simulator/housekeeping/role-aggregation.ts'
import { type JsonObject, parseTree, textInOrder } from '../../../lib/go/json/tree.ts'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'

function roleOf(name: string, members: object, labels: object = {}): JsonObject {
  const bytes = Buffer.from(JSON.stringify({ metadata: { name, labels }, ...members }))
  return parseTree(bytes, 0, bytes.length) as JsonObject
}

const rule = (...resources: string[]): object => ({ verbs: ['get'], apiGroups: [''], resources })

t.test('a role gets the rules of those that it selects, each once, but not its own', async t => {
  const into = { aggregate: 'x' }
  const matching = [
    { matchLabels: into },
    { matchExpressions: [{ key: 'more', operator: 'Exists' }] },
  ]
  const aggregationRule = { clusterRoleSelectors: matching }
  const self = roleOf('b', { aggregationRule, rules: [rule('own')] }, into)
  const others = [
    roleOf('a', { rules: [rule('one'), rule('two')] }, into),
    self,
    roleOf('c', { rules: [rule('two'), rule('three', 'four')] }, { more: 'true' }),
    roleOf('d', { rules: [rule('not')] }),
    roleOf('e', { rules: null }, into),
  ]
  const rules = atOnce(aggregatedRules(self, others))
  t.strictSame(JSON.parse(textInOrder(rules ?? null)), [
    rule('one'),
    rule('two'),
    rule('three', 'four'),
  ])
  t.equal(atOnce(aggregatedRules(others[0]!, others)), undefined)
})

interface Role {
  readonly metadata: {
    readonly managedFields: readonly { readonly manager: string; readonly operation: string }[]
  }
  readonly rules: readonly { readonly resources?: readonly string[] }[] | null
}

t.test('admin, edit and view have what a controller manager would give them', async t => {
  const { send, until } = await startSimulatedCluster<Role>(t)
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  const rulesOf = async (name: string): Promise<Role['rules']> =>
    (await send('GET', `${roles}/${name}`)).rules
  const has = (role: Role, resource: string): boolean =>
    role.rules?.some(({ resources }) => resources?.includes(resource)) === true
  // view is part of edit, and edit of admin.
  const admin = await until(`${roles}/admin`, role => has(role, 'pods/log'))
  t.ok(has(admin, 'rolebindings'))
  t.ok(has(admin, 'secrets'))
  t.strictSame(
    admin.metadata.managedFields.map(({ manager, operation }) => `${manager} ${operation}`).sort(),
    ['clusterrole-aggregation-controller Apply', 'kube-apiserver Update'],
  )
  t.strictSame(await rulesOf('view'), await rulesOf('system:aggregate-to-view'))
  t.strictSame(await rulesOf('edit'), [
    ...((await rulesOf('system:aggregate-to-edit')) ?? []),
    ...((await rulesOf('view')) ?? []),
  ])
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }
  const added = { metadata: { name: 'gadgets', labels }, rules: [rule('gadgets')] }
  t.equal((await send('POST', roles, added)).code, 201)
  await until(`${roles}/admin`, role => has(role, 'gadgets'))
  await send('DELETE', `${roles}/gadgets`)
  await until(`${roles}/admin`, role => !has(role, 'gadgets'))
})
