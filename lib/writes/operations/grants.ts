/** Writes of roles and bindings grant what others may do: nobody may grant more than they hold,
 *  unless they may `escalate` the role, or `bind` it (pkg/registry/rbac of kube-apiserver). */

import { type JsonObject, textFromTree, textInOrder } from '@watchglass/go'
import { objectNotFound, type ResourceAttributes } from '@watchglass/kube'
import { allRules, escalation } from '../rbac/escalation.ts'
import { type PolicyRule, roleReferenceOf, rulesOf } from '../rbac/policy.ts'
import { isAdministrator } from '../rbac/rbac.ts'
import { metadataOf, metaText } from '../metadata.ts'
import { forbiddenWrite } from '../refusals.ts'
import type { WriteAccess } from '../write-access.ts'
import type { WriteSession } from './session.ts'

const group = 'rbac.authorization.k8s.io'

/** Refuses an object that grants what the user does not hold.
 *  @param live the object as it is stored; undefined for a new one */
export function checkGrant(
  session: WriteSession,
  object: JsonObject,
  live: JsonObject | undefined,
): void {
  const { access } = session.services
  const { kind, user } = session
  if (access === undefined || kind.group !== group || isAdministrator(user)) return
  if (live !== undefined && isOnlyForCollector(object, live)) return
  switch (kind.resource) {
    case 'roles':
    case 'clusterroles':
      checkRole(session, access, { object, live })
      return
    case 'rolebindings':
    case 'clusterrolebindings':
      checkBinding(session, access, object)
      return
  }
}

function checkRole(
  session: WriteSession,
  access: WriteAccess,
  { object, live }: { readonly object: JsonObject; readonly live: JsonObject | undefined },
): void {
  const { kind, name, namespace } = session
  if (mayDo(session, access, { verb: 'escalate', resource: kind.resource, name, namespace })) return
  check(session, access, { object, rules: rulesOf(plain(object)) })
  const hasAggregation = [object, live].some(one => one?.get('aggregationRule') instanceof Map)
  if (kind.resource !== 'clusterroles' || !hasAggregation) return
  if (escalation(session.user, access.rulesFor(session.user, ''), allRules) === undefined) return
  const reason = 'must have cluster-admin privileges to use the aggregationRule'
  throw forbiddenWrite(kind, metaText(object, 'name'), reason)
}

function checkBinding(session: WriteSession, access: WriteAccess, object: JsonObject): void {
  const { namespace, kind } = session
  const role = roleReferenceOf(plain(object))
  const resource = role.kind === 'ClusterRole' ? 'clusterroles' : 'roles'
  if (mayDo(session, access, { verb: 'bind', resource, name: role.name, namespace })) return
  const rules = access.roleRules(role, namespace)
  if (rules === undefined) throw objectNotFound(kind, role.name)
  check(session, access, { object, rules })
}

function check(
  { user, kind, namespace }: WriteSession,
  access: WriteAccess,
  { object, rules }: { readonly object: JsonObject; readonly rules: readonly PolicyRule[] },
): void {
  const reason = escalation(user, access.rulesFor(user, namespace), rules)
  if (reason !== undefined) throw forbiddenWrite(kind, metaText(object, 'name'), reason)
}

function mayDo(
  { user }: WriteSession,
  access: WriteAccess,
  asked: Pick<ResourceAttributes, 'verb' | 'resource' | 'name' | 'namespace'>,
): boolean {
  const attributes = { ...asked, group, version: '*', subresource: '', fields: [], labels: [] }
  return access.authorize(user, attributes).isAllowed
}

function plain(object: JsonObject): unknown {
  return JSON.parse(textInOrder(object))
}

/** The collector of garbage changes owners and finalizers of roles that it could not grant. */
function isOnlyForCollector(object: JsonObject, live: JsonObject): boolean {
  return comparable(object) === comparable(live)
}

function comparable(object: JsonObject): string {
  const metadata = new Map(metadataOf(object))
  for (const name of ['ownerReferences', 'finalizers', 'managedFields']) metadata.delete(name)
  return textFromTree(new Map(object).set('metadata', metadata))
}
