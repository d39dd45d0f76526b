/** OwnerReferencesPermissionEnforcement: whoever gives an object an owner could have deleted it,
 *  and whoever keeps an owner from going may set its finalizers. */

import { goQuote, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import type { ResourceAttributes } from '@watchglass/kube'
import { isEqual, textOf } from '../../metadata.ts'
import { partsOf } from '../pod-parts.ts'
import type { AdmissionPlugin, AdmissionAttributes } from '../plugin.ts'
import { forbidden } from '../refusals.ts'

export const ownerReferences: AdmissionPlugin = {
  name: 'OwnerReferencesPermissionEnforcement',
  validate(attributes) {
    const { session, operation, object, old } = attributes
    const isStatus = session.subresource === 'status' && session.kind.resource === 'pods'
    if (object === undefined || (isStatus && session.kind.group === '')) return undefined
    const [owners, before] = [ownersOf(object), ownersOf(old)]
    const isSame =
      owners.length === before.length &&
      owners.every((owner, index) => isEqual(owner, before[index]))
    if (isSame) return undefined
    if (operation !== 'CREATE') checkDeletion(attributes)
    const blocking = owners.filter(owner => isBlocking(owner) && !wasBlocking(owner, before))
    if (blocking.length > 0) checkFinalizers(attributes, blocking)
    return undefined
  },
}

function ownersOf(object: JsonObject | undefined): JsonObject[] {
  return partsOf(object?.get('metadata'), 'ownerReferences')
}

function isBlocking(owner: JsonValue | undefined): boolean {
  return memberOf(owner, 'blockOwnerDeletion') === true
}

function wasBlocking(owner: JsonObject, before: readonly JsonObject[]): boolean {
  return isBlocking(before.findLast(one => one.get('uid') === owner.get('uid')))
}

function checkDeletion(attributes: AdmissionAttributes): void {
  const { resource, subresource, namespace, name } = attributes.session
  const { group, version } = resource
  const asked = { group, version, resource: resource.resource, subresource, namespace, name }
  const reason = refusal(attributes, { verb: 'delete', ...asked })
  if (reason === undefined) return
  throw forbidden(attributes, `cannot set an ownerRef on a resource you can't delete: ${reason}`)
}

function checkFinalizers(attributes: AdmissionAttributes, owners: readonly JsonObject[]): void {
  const asked = { verb: 'update', subresource: 'finalizers' }
  const all = { group: '*', version: '*', resource: '*', namespace: '', name: '*' }
  if (refusal(attributes, { ...asked, ...all }) === undefined) return
  const { registry } = attributes.session.state
  for (const owner of owners) {
    const [apiVersion, kind, name] = ['apiVersion', 'kind', 'name'].map(member =>
      textOf(owner.get(member)),
    )
    const found = registry.resources.filter(
      one => one.kind === kind && one.storage !== undefined && versionOf(one) === apiVersion,
    )
    if (found.length === 0) {
      throw forbidden(
        attributes,
        `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind ${goQuote(kind ?? '')} in version ${goQuote(apiVersion ?? '')}`,
      )
    }
    for (const one of found) {
      const reason = refusal(attributes, {
        ...asked,
        group: one.group,
        version: one.version,
        resource: one.resource,
        namespace: one.isNamespaced ? attributes.session.namespace : '',
        name: name ?? '',
      })
      if (reason === undefined) continue
      throw forbidden(
        attributes,
        `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason}`,
      )
    }
  }
}

function versionOf({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`
}

/** Why the user may not do so; undefined if it may. */
function refusal(
  { session }: AdmissionAttributes,
  asked: Omit<ResourceAttributes, 'fields' | 'labels'>,
): string | undefined {
  const decision = session.services.access?.authorize(session.user, {
    ...asked,
    fields: [],
    labels: [],
  })
  return decision === undefined || decision.isAllowed ? undefined : `${decision.reason}, <nil>`
}
