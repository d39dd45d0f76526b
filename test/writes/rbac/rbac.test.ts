import t from 'tap'
import { escalation } from '../../../lib/writes/rbac/escalation.ts'
import { bindingOf, type PolicyRule, ruleAllows, rulesOf } from '../../../lib/writes/rbac/policy.ts'
import { authorize, type Policy, rulesFor } from '../../../lib/writes/rbac/rbac.ts'
import type { Identity } from '../../../lib/kube/access-review.ts'
import type { Attributes, ResourceAttributes } from '../../../lib/kube/request/attributes.ts'

function asks(verb: string, resource: string, more: Partial<ResourceAttributes> = {}): Attributes {
  const [plain = '', subresource = ''] = resource.split('/')
  const none = { group: '', version: 'v1', namespace: '', name: '', fields: [], labels: [] }
  return { ...none, verb, resource: plain, subresource, ...more }
}

function user(name: string, ...groups: string[]): Identity {
  return { user: name, uid: '', groups: [...groups, 'system:authenticated'], extra: {} }
}

function rule(parts: object): PolicyRule {
  const [made] = rulesOf({ rules: [parts] })
  if (made === undefined) throw new Error('no rule')
  return made
}

const pods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }

t.test('a rule allows what all its lists allow', async t => {
  const rows: readonly [object, Attributes, boolean][] = [
    [pods, asks('get', 'pods'), true],
    [pods, asks('delete', 'pods'), false],
    [pods, asks('get', 'pods', { group: 'x' }), false],
    [pods, asks('get', 'pods/log'), false],
    [{ ...pods, verbs: ['*'] }, asks('anything', 'pods'), true],
    [{ ...pods, apiGroups: ['*'] }, asks('get', 'pods', { group: 'x' }), true],
    [{ ...pods, resources: ['*'] }, asks('get', 'pods/log'), true],
    [{ ...pods, resources: ['pods/log'] }, asks('get', 'pods/log'), true],
    [{ ...pods, resources: ['pods/log'] }, asks('get', 'pods'), false],
    [{ ...pods, resources: ['*/log'] }, asks('get', 'pods/log'), true],
    [{ ...pods, resources: ['*/log'] }, asks('get', 'pods'), false],
    [{ ...pods, resources: ['pods/*'] }, asks('get', 'pods/log'), false],
    [{ ...pods, resourceNames: ['a'] }, asks('get', 'pods', { name: 'a' }), true],
    [{ ...pods, resourceNames: ['a'] }, asks('get', 'pods', { name: 'b' }), false],
    [{ ...pods, resourceNames: ['a'] }, asks('list', 'pods'), false],
    [pods, { verb: 'get', path: '/pods' }, false],
    [{ nonResourceURLs: ['/a'], verbs: ['get'] }, { verb: 'get', path: '/a' }, true],
    [{ nonResourceURLs: ['/a'], verbs: ['get'] }, { verb: 'get', path: '/a/b' }, false],
    [{ nonResourceURLs: ['/a/*'], verbs: ['get'] }, { verb: 'get', path: '/a/b/c' }, true],
    [{ nonResourceURLs: ['/a/*'], verbs: ['get'] }, { verb: 'get', path: '/a' }, false],
    [{ nonResourceURLs: ['/a/*/c'], verbs: ['get'] }, { verb: 'get', path: '/a/b/c' }, false],
    [{ nonResourceURLs: ['*'], verbs: ['*'] }, { verb: 'post', path: '/x' }, true],
    [{ nonResourceURLs: ['*'], verbs: ['*'] }, asks('get', 'pods'), false],
    [{}, asks('get', 'pods'), false],
  ]
  for (const [parts, attributes, isAllowed] of rows) {
    t.equal(ruleAllows(rule(parts), attributes), isAllowed, JSON.stringify([parts, attributes]))
  }
})

/** Bindings as objects of the API; roles by `KIND/NAMESPACE/NAME`. */
function policyOf(bindings: readonly object[], roles: Readonly<Record<string, object[]>>): Policy {
  const all = bindings.map(bindingOf)
  return {
    clusterRoleBindings: all.filter(({ namespace }) => namespace === ''),
    roleBindings: asked => all.filter(({ namespace }) => namespace === asked && asked !== ''),
    rules(kind, namespace, name) {
      const rules = roles[`${kind}/${namespace}/${name}`]
      return rules && rulesOf({ rules })
    },
  }
}

function bind(
  name: string,
  [roleKind, roleName]: readonly [string, string],
  subjects: readonly object[],
  namespace?: string,
): object {
  return { metadata: { name, namespace }, roleRef: { kind: roleKind, name: roleName }, subjects }
}

const policy = policyOf(
  [
    bind('readers', ['ClusterRole', 'reader'], [{ kind: 'Group', name: 'dev' }]),
    bind('broken', ['ClusterRole', 'gone'], [{ kind: 'User', name: 'eve' }]),
    bind(
      'local',
      ['Role', 'writer'],
      [
        { kind: 'User', name: 'bob' },
        { kind: 'ServiceAccount', name: 'robot' },
        { kind: 'ServiceAccount', name: 'bot', namespace: 'other' },
      ],
      'shop',
    ),
    bind('reads', ['ClusterRole', 'reader'], [{ kind: 'User', name: 'carol' }], 'shop'),
    bind('lost', ['Role', 'gone'], [{ kind: 'User', name: 'eve' }], 'shop'),
  ],
  {
    'ClusterRole//reader': [pods, { nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    'Role/shop/writer': [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['*'] }],
  },
)

t.test('a user may do what a binding says, and hears which one', async t => {
  const inShop = { namespace: 'shop' }
  const deploy = asks('create', 'deployments', { group: 'apps', ...inShop })
  const rows: readonly [Identity, Attributes, boolean, string][] = [
    [
      user('ann', 'dev'),
      asks('list', 'pods', { namespace: 'any' }),
      true,
      'RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "dev"',
    ],
    [user('ann'), asks('list', 'pods', inShop), false, ''],
    [
      user('bob'),
      deploy,
      true,
      'RBAC: allowed by RoleBinding "local/shop" of Role "writer" to User "bob"',
    ],
    [user('bob'), asks('create', 'deployments', { group: 'apps' }), false, ''],
    [user('bob'), asks('list', 'pods', inShop), false, ''],
    [
      user('system:serviceaccount:shop:robot'),
      deploy,
      true,
      'RBAC: allowed by RoleBinding "local/shop" of Role "writer" to ServiceAccount "robot/shop"',
    ],
    [
      user('system:serviceaccount:other:bot'),
      deploy,
      true,
      'RBAC: allowed by RoleBinding "local/shop" of Role "writer" to ServiceAccount "bot/other"',
    ],
    [user('system:serviceaccount:shop:bot'), deploy, false, ''],
    [
      user('carol'),
      asks('get', 'pods', inShop),
      true,
      'RBAC: allowed by RoleBinding "reads/shop" of ClusterRole "reader" to User "carol"',
    ],
    // A binding in a namespace allows no paths.
    [user('carol'), { verb: 'get', path: '/metrics' }, false, ''],
    [
      user('ann', 'dev'),
      { verb: 'get', path: '/metrics' },
      true,
      'RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "dev"',
    ],
    [
      user('eve'),
      asks('list', 'pods'),
      false,
      'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    ],
    [
      user('eve'),
      asks('list', 'pods', inShop),
      false,
      'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found]',
    ],
    [user('root', 'system:masters'), deploy, true, ''],
  ]
  for (const [who, attributes, isAllowed, reason] of rows) {
    t.strictSame(
      authorize(policy, who, attributes),
      { isAllowed, reason },
      `${who.user} ${JSON.stringify(attributes)}`,
    )
  }
})

t.test('the rules of a user are those of all bindings that apply', async t => {
  const { rules, problems } = rulesFor(policy, user('eve', 'dev'), 'shop')
  t.strictSame(
    rules.flatMap(({ resources }) => resources),
    ['pods'],
  )
  t.equal(problems.length, 2)
  t.equal(rulesFor(policy, user('bob'), '').rules.length, 0)
  t.equal(rulesFor(policy, user('bob'), 'shop').rules.length, 1)
})

t.test('nobody grants what they do not hold', async t => {
  const carol = user('carol', 'dev', 'ops')
  const held = (...rules: object[]): Parameters<typeof escalation>[1] => ({
    rules: rulesOf({ rules }),
    problems: [],
  })
  const missing = (...lines: string[]): string =>
    `user "carol" (groups=["dev" "ops" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`
  const own = { apiGroups: [''], resources: ['pods'], verbs: ['get'] }
  const secrets = { apiGroups: [''], resources: ['secrets'], verbs: ['get'] }
  const rows: readonly [object, object, string | undefined][] = [
    [own, own, undefined],
    [own, { ...own, resourceNames: ['p'] }, undefined],
    [
      { ...own, resourceNames: ['p'] },
      own,
      missing('{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'),
    ],
    [
      own,
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      missing('{APIGroups:["*"], Resources:["*"], Verbs:["*"]}'),
    ],
    [
      own,
      { ...secrets, resourceNames: ['a', 'b'] },
      missing(
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get"]}',
      ),
    ],
    [
      own,
      { ...own, resources: ['pods', 'pods/log'], verbs: ['get', 'list', 'watch'] },
      missing(
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
        '{APIGroups:[""], Resources:["pods/log"], Verbs:["get" "list" "watch"]}',
      ),
    ],
    [{ ...own, resources: ['*/log'] }, { ...own, resources: ['pods/log'] }, undefined],
    [
      { nonResourceURLs: ['/a/*'], verbs: ['get'] },
      { nonResourceURLs: ['/a/b', '/b'], verbs: ['get'] },
      missing('{NonResourceURLs:["/b"], Verbs:["get"]}'),
    ],
    [
      { nonResourceURLs: ['*'], verbs: ['*'] },
      own,
      missing('{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'),
    ],
  ]
  for (const [has, grants, text] of rows) {
    t.equal(
      escalation(carol, held(has), rulesOf({ rules: [grants] })),
      text,
      JSON.stringify(grants),
    )
  }
  const unresolved = { rules: [], problems: ['one', 'two'] }
  t.match(
    escalation(carol, unresolved, rulesOf({ rules: [own] })),
    /; resolution errors: \[one two\]$/,
  )
})

t.test('a role of many names is refused by its count, before it is broken down', async t => {
  const names = Array.from({ length: 30_000 }, (_, i) => `n${i}`)
  const huge = rulesOf({ rules: [{ apiGroups: names, resources: names, verbs: names }] })
  const text = escalation(user('carol'), { rules: huge, problems: [] }, huge)
  t.match(text, /more than 10000 single permissions/)
})

t.test(
  'a role of more permissions than a real one has is refused before they are compared',
  async t => {
    const names = (count: number, prefix: string): string[] =>
      Array.from({ length: count }, (_, i) => `${prefix}${i}`)
    const granted = (verbs: number): PolicyRule =>
      rule({ apiGroups: [''], resources: names(100, 'r'), verbs: names(verbs, 'v') })
    const everything = rule({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] })
    const held = { rules: [everything], problems: [] }
    t.equal(escalation(user('u'), held, [granted(100)]), undefined)
    t.match(
      escalation(user('u'), held, [granted(100), rule({ ...pods, verbs: ['get'] })]),
      /attempting to grant more than 10000 single permissions$/,
    )
  },
)
