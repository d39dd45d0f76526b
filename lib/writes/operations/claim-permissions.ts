/** The permissions that a write of a ResourceClaim needs beside that of the request: access to
 *  devices as an administrator is up to a label of the namespace, and the status is up to roles,
 *  part by part (pkg/registry/resource of kube-apiserver). */

import { itemsOf, type JsonObject, type JsonValue, memberAt, memberOf } from '@watchglass/go'
import { forbidden as forbiddenRequest, type ResourceAttributes } from '@watchglass/kube'
import { type FieldError, forbidden } from '../field-errors.ts'
import { isEqual, textOf } from '../metadata.ts'
import type { WriteAccess } from '../write-access.ts'
import type { WriteSession } from './session.ts'

const group = 'resource.k8s.io'
const adminLabel = 'resource.kubernetes.io/admin-access'
const nodeNameKey = 'authentication.kubernetes.io/node-name'

/** Errors about what the user may not write; they are told before those of the object. */
export async function claimErrors(
  session: WriteSession,
  object: JsonObject,
  old: JsonObject | undefined,
): Promise<readonly FieldError[]> {
  const { kind, subresource } = session
  if (kind.group !== group) return []
  if (old === undefined) {
    // The spec cannot be changed later on.
    if (kind.kind === 'ResourceClaim') return adminErrors(session, requested(object, ['spec']))
    const inner = ['spec', 'spec']
    return kind.kind === 'ResourceClaimTemplate'
      ? adminErrors(session, requested(object, inner))
      : []
  }
  if (kind.kind !== 'ResourceClaim' || subresource !== 'status') return []
  const isOld = granted(old) !== undefined
  const errors = isOld ? [] : await adminErrors(session, granted(object))
  const { access } = session.services
  if (access === undefined || !kind.schema.has('claimPermissions')) return errors
  return [
    ...errors,
    ...bindingErrors(session, access, { object, old }),
    ...deviceErrors(session, access, { object, old }),
  ]
}

/** The field by which the first request that wants to be an administrator says so. Templates are
 *  told of as claims. */
function requested(object: JsonObject, spec: readonly string[]): string | undefined {
  const requests = itemsOf(memberAt(object, [...spec, 'devices', 'requests']))
  const at = requests.findIndex(
    request => memberOf(memberOf(request, 'exactly'), 'adminAccess') === true,
  )
  return at < 0 ? undefined : `spec.devices.requests[${at}].adminAccess`
}

function granted(object: JsonObject): string | undefined {
  const at = resultsOf(object).findIndex(result => memberOf(result, 'adminAccess') === true)
  return at < 0 ? undefined : `status.allocation.devices.results[${at}].adminAccess`
}

function resultsOf(object: JsonObject): readonly JsonValue[] {
  return itemsOf(memberAt(object, ['status', 'allocation', 'devices', 'results']))
}

async function adminErrors(
  session: WriteSession,
  field: string | undefined,
): Promise<readonly FieldError[]> {
  if (field === undefined) return []
  const { state, services, signal, namespace } = session
  const namespaces = state.registry.find('', 'v1', 'namespaces')
  if (namespaces === undefined) return []
  const owner = session.to(namespaces, namespace)
  const entry = await services.store.get(owner.keyOf(namespace), signal)
  const tree = entry && owner.treeOf(entry)
  if (memberAt(tree, ['metadata', 'labels', adminLabel]) === 'true') return []
  const rule = `admin access to devices requires the \`${adminLabel}: true\` label on the containing namespace`
  return [forbidden(field, rule)]
}

interface Change {
  readonly object: JsonObject
  readonly old: JsonObject
}

type Asked = Pick<ResourceAttributes, 'verb' | 'subresource' | 'namespace' | 'name'>

/** Why the user may not do what a synthetic subresource stands for; undefined if they may. */
function denied({ user }: WriteSession, access: WriteAccess, asked: Asked): string | undefined {
  const resource = 'resourceclaims'
  const attributes = { ...asked, group, version: 'v1', resource, fields: [], labels: [] }
  const { isAllowed, reason } = access.authorize(user, attributes)
  if (isAllowed) return undefined
  return forbiddenRequest({ ...asked, user: user.user, group, resource, reason }).message
}

function bindingErrors(
  session: WriteSession,
  access: WriteAccess,
  { object, old }: Change,
): readonly FieldError[] {
  const [status, before] = [object.get('status'), old.get('status')]
  const isSame = ['allocation', 'reservedFor'].every(name =>
    isEqual(memberOf(status, name), memberOf(before, name)),
  )
  if (isSame) return []
  const { verb } = session
  const asked = { verb, subresource: 'binding', namespace: '', name: '' }
  const reason = denied(session, access, asked)
  if (reason === undefined) return []
  const needed = `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission`
  return [forbidden('status.allocation', `${needed}: ${reason}`)]
}

/** Drivers write what they know of their own devices; nobody has any without an allocation. */
function deviceErrors(
  session: WriteSession,
  access: WriteAccess,
  { object, old }: Change,
): readonly FieldError[] {
  const allocation = memberAt(object, ['status', 'allocation'])
  if (!(allocation instanceof Map)) return []
  const { verb, namespace } = session
  const isOnNode = isNodeOf(session, nodeOf(allocation))
  const verbs = [...(isOnNode ? ['associated-node:'] : []), 'arbitrary-node:'].map(
    prefix => prefix + verb,
  )
  const errors: FieldError[] = []
  for (const name of changedDrivers(object, old)) {
    const reasons = verbs.map(one =>
      denied(session, access, { verb: one, subresource: 'driver', namespace, name }),
    )
    const [first] = reasons
    if (first === undefined || reasons.includes(undefined)) continue
    const needed = `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission`
    errors.push(forbidden('status.devices', `${needed}: ${first}`))
  }
  return errors
}

function changedDrivers(object: JsonObject, old: JsonObject): readonly string[] {
  const before = new Map(devicesOf(old).map(device => [idOf(device), device]))
  const changed = new Set<string>()
  for (const device of devicesOf(object)) {
    const known = before.get(idOf(device))
    before.delete(idOf(device))
    if (known === undefined || !isEqual(known, device)) changed.add(driverOf(device))
  }
  for (const device of before.values()) changed.add(driverOf(device))
  return [...changed].sort()
}

function devicesOf(object: JsonObject): readonly JsonValue[] {
  return itemsOf(memberAt(object, ['status', 'devices']))
}

function driverOf(device: JsonValue): string {
  return textOf(memberOf(device, 'driver'))
}

function idOf(device: JsonValue): string {
  return JSON.stringify(
    ['driver', 'pool', 'device', 'shareID'].map(name => textOf(memberOf(device, name))),
  )
}

/** The node that an allocation is for, if it is for a single one. */
function nodeOf(allocation: JsonObject): string {
  const terms = itemsOf(memberAt(allocation, ['nodeSelector', 'nodeSelectorTerms']))
  const [term] = terms
  const [field, other] = itemsOf(memberOf(term, 'matchFields'))
  if (terms.length !== 1 || other !== undefined) return ''
  if (itemsOf(memberOf(term, 'matchExpressions')).length > 0) return ''
  const values = itemsOf(memberOf(field, 'values'))
  const isByName =
    memberOf(field, 'key') === 'metadata.name' && memberOf(field, 'operator') === 'In'
  return isByName && values.length === 1 ? textOf(values[0]) : ''
}

/** The token of a service account names the node that its pod is on. */
function isNodeOf({ user }: WriteSession, node: string): boolean {
  const names = user.extra[nodeNameKey] ?? []
  const isAccount = user.user.startsWith('system:serviceaccount:')
  return node !== '' && isAccount && names.length === 1 && names[0] === node
}
