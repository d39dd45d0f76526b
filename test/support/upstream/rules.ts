/** The access rules of the test upstream: those of RBAC, which may also require a selector. They
 *  are a value from the test, or the RBAC objects in etcd. */

import { keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { jsonFromProtobuf } from '../../../lib/codec/transcode/transcode.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import type { Identity } from '../../../lib/kube/access-review.ts'
import type { Attributes, ResourceAttributes } from '../../../lib/kube/request/attributes.ts'

/** A PolicyRule. Absent lists allow nothing. */
export interface Rule {
  readonly verbs?: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  /** Empty: any. */
  readonly resourceNames?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  /** Requirements that the request must have: `spec.nodeName=a` of fields, `app=web` of labels. */
  readonly fields?: readonly string[]
  readonly labels?: readonly string[]
}

/** Rules that somebody has, in a namespace or, with an empty one, everywhere. */
export interface Binding {
  /** Names of users, and of groups with `group:` before them. */
  readonly subjects: readonly string[]
  readonly namespace: string
  readonly rules: readonly Rule[]
}

/** The rights that upstream gives to everybody whom it knows. */
export const basicUser: Binding = {
  subjects: ['group:system:authenticated'],
  namespace: '',
  rules: [
    {
      verbs: ['create'],
      apiGroups: ['authorization.k8s.io', 'authentication.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectreviews'],
    },
    { verbs: ['get'], nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/version'] },
  ],
}

/** True if somebody may do that. */
export function isAllowed(
  bindings: readonly Binding[],
  { user, groups }: Pick<Identity, 'user' | 'groups'>,
  attributes: Attributes,
): boolean {
  if (groups.includes('system:masters')) return true
  const subjects = new Set([user, ...groups.map(group => `group:${group}`)])
  return bindings.some(
    ({ subjects: bound, namespace, rules }) =>
      bound.some(subject => subjects.has(subject)) &&
      (namespace === '' || ('resource' in attributes && attributes.namespace === namespace)) &&
      rules.some(rule => covers(rule, attributes)),
  )
}

function covers(rule: Rule, attributes: Attributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false
  if ('path' in attributes) {
    return (rule.nonResourceURLs ?? []).some(url =>
      url.endsWith('*') ? attributes.path.startsWith(url.slice(0, -1)) : url === attributes.path,
    )
  }
  const { group, name } = attributes
  const { resourceNames = [] } = rule
  return (
    hasOrAll(rule.apiGroups, group) &&
    coversResource(rule, attributes) &&
    (resourceNames.length === 0 || resourceNames.includes(name)) &&
    hasAll(rule.fields, attributes.fields) &&
    hasAll(rule.labels, attributes.labels)
  )
}

function coversResource(
  { resources = [] }: Rule,
  { resource, subresource }: ResourceAttributes,
): boolean {
  const asked = subresource === '' ? resource : `${resource}/${subresource}`
  return resources.some(
    known =>
      known === '*' || known === asked || (subresource !== '' && known === `*/${subresource}`),
  )
}

function hasOrAll(known: readonly string[] = [], asked: string): boolean {
  return known.includes('*') || known.includes(asked)
}

function hasAll(wanted: readonly string[] = [], given: ResourceAttributes['fields']): boolean {
  const texts = new Set(
    given
      .filter(({ operator, values }) => operator === 'In' && values.length === 1)
      .map(({ key, values }) => `${key}=${values.join()}`),
  )
  return wanted.every(requirement => texts.has(requirement))
}

interface RbacObject {
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Rule[]
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
}

/** The rules that the RBAC objects in etcd make. */
export async function bindingsFromEtcd(client: Client, prefix = '/registry'): Promise<Binding[]> {
  const read = (resource: string): Promise<RbacObject[]> =>
    objectsBelow(client, `${prefix}/${resource}/`)
  const roles = new Map<string, readonly Rule[]>()
  for (const { metadata, rules = [] } of await read('roles')) {
    roles.set(`${metadata.namespace}/${metadata.name}`, rules)
  }
  const clusterRoles = new Map<string, readonly Rule[]>()
  for (const { metadata, rules = [] } of await read('clusterroles')) {
    clusterRoles.set(metadata.name, rules)
  }
  const bindings = [...(await read('rolebindings')), ...(await read('clusterrolebindings'))]
  return bindings.map(({ metadata, subjects = [], roleRef }) => {
    const { namespace = '' } = metadata
    const name = roleRef?.name ?? ''
    const rules =
      roleRef?.kind === 'Role' ? roles.get(`${namespace}/${name}`) : clusterRoles.get(name)
    const names = subjects.map(({ kind, name: subject }) =>
      kind === 'Group' ? `group:${subject}` : subject,
    )
    return { subjects: names, namespace, rules: rules ?? [] }
  })
}

async function objectsBelow(client: Client, prefix: string): Promise<RbacObject[]> {
  const { entries } = await client.range({ range: prefixRange(keyFromText(prefix)) })
  return entries.map(({ bytes, start, end }) => {
    const json = jsonFromProtobuf(bytes, start, end)
    if (json instanceof NotExact) throw new Error(json.reason)
    return JSON.parse(Buffer.from(json).toString('utf8')) as RbacObject
  })
}
