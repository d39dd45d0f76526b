/** Rules of grants: nobody gives more than they hold, unless they may escalate, or bind. */

import t from 'tap'
import type { WriteAccess } from '../../../lib/writes/write-access.ts'
import type { PolicyRule } from '../../../lib/writes/rbac/policy.ts'
import type { ResourceAttributes } from '../../../lib/kube/request/attributes.ts'
import { type Shown, WriteWorld } from '../../support/kube/writes/write-world.ts'

const group = 'rbac.authorization.k8s.io'
const apiVersion = `${group}/v1`
const none = { resourceNames: [], nonResourceURLs: [] }
const getPods: PolicyRule = { ...none, verbs: ['get'], apiGroups: [''], resources: ['pods'] }
const getSecrets: PolicyRule = { ...getPods, resources: ['secrets'] }

interface User {
  readonly holds: readonly PolicyRule[]
  /** `escalate clusterroles a` */
  readonly may?: readonly string[]
  readonly roles?: Readonly<Record<string, readonly PolicyRule[]>>
}

function worldOf({ holds, may = [], roles = {} }: User): WriteWorld {
  const access = {
    authorize: (_: unknown, { verb, resource, name }: ResourceAttributes) => ({
      isAllowed: may.includes(`${verb} ${resource} ${name}`),
    }),
    rulesFor: () => ({ rules: holds, problems: [] }),
    roleRules: ({ kind, name }: { readonly kind: string; readonly name: string }) =>
      roles[`${kind} ${name}`],
  } as unknown as WriteAccess
  return new WriteWorld(access)
}

const plain = ({ verbs, apiGroups, resources }: PolicyRule): object => ({
  verbs,
  apiGroups,
  resources,
})

async function created(user: User, kind: string, object: object): Promise<Shown | string> {
  const resource = `${kind.toLowerCase()}s`
  const body = { kind, apiVersion, metadata: { name: 'a' }, ...object }
  return worldOf(user).ask('create', { group, version: 'v1', resource }, body)
}

const refusal = (resource: string): string =>
  `403: ${resource}.rbac.authorization.k8s.io "a" is forbidden: user "u" (groups=[]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`

t.test('a role has no rule that its writer does not hold, unless they may escalate it', async t => {
  for (const kind of ['Role', 'ClusterRole']) {
    const resource = `${kind.toLowerCase()}s`
    const rules = [getPods, getSecrets].map(plain)
    t.equal(await created({ holds: [getPods] }, kind, { rules }), refusal(resource))
    t.match(await created({ holds: [getPods, getSecrets] }, kind, { rules }), { kind })
    for (const may of [`bind ${resource} a`, `escalate ${resource} b`, `escalate pods a`]) {
      t.equal(await created({ holds: [getPods], may: [may] }, kind, { rules }), refusal(resource))
    }
    // A create is asked for without a name.
    t.match(await created({ holds: [], may: [`escalate ${resource} `] }, kind, { rules }), { kind })
  }
})

t.test('a binding gives no rule that its writer does not hold, unless they may bind', async t => {
  const roles = {
    'Role r': [getSecrets],
    'ClusterRole c': [getSecrets],
    'ClusterRole p': [getPods],
  }
  const to = (kind: string, name: string): object => ({
    roleRef: { apiGroup: group, kind, name },
    subjects: [{ kind: 'User', apiGroup: group, name: 'x' }],
  })
  const user = (more: Partial<User> = {}): User => ({ holds: [getPods], roles, ...more })
  const local = 'RoleBinding'
  t.equal(await created(user(), local, to('Role', 'r')), refusal('rolebindings'))
  t.equal(await created(user(), local, to('ClusterRole', 'c')), refusal('rolebindings'))
  t.match(await created(user(), local, to('ClusterRole', 'p')), { kind: local })
  t.match(await created(user({ may: ['bind roles r'] }), local, to('Role', 'r')), { kind: local })
  t.equal(
    await created(user({ may: ['bind clusterroles r'] }), local, to('Role', 'r')),
    refusal('rolebindings'),
  )
  t.match(await created(user({ may: ['bind clusterroles c'] }), local, to('ClusterRole', 'c')), {
    kind: local,
  })
  t.equal(
    await created(user({ may: ['bind roles c'] }), local, to('ClusterRole', 'c')),
    refusal('rolebindings'),
  )
  const everywhere = 'ClusterRoleBinding'
  t.equal(await created(user(), everywhere, to('ClusterRole', 'c')), refusal('clusterrolebindings'))
  t.match(await created(user(), everywhere, to('ClusterRole', 'p')), { kind: everywhere })
  t.match(await created(user(), local, to('Role', 'unknown')), /^404: .*"unknown" not found$/)
})

t.test('who aggregates rules must hold all', async t => {
  const rule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
  const everything: PolicyRule[] = [
    { ...none, verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    { ...none, verbs: ['*'], apiGroups: [], resources: [], nonResourceURLs: ['*'] },
  ]
  const asking = { aggregationRule: rule }
  t.match(
    await created({ holds: [getPods] }, 'ClusterRole', asking),
    /^403: .*must have cluster-admin privileges to use the aggregationRule$/,
  )
  t.match(
    await created({ holds: everything.slice(0, 1) }, 'ClusterRole', asking),
    /^403: .*must have cluster-admin privileges to use the aggregationRule$/,
  )
  t.match(await created({ holds: everything }, 'ClusterRole', asking), { kind: 'ClusterRole' })
})
