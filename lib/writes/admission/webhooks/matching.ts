/** Whether a hook is about a request, and in which version it wants the object. */

import { keyFromText } from '@watchglass/base'
import type { JsonObject } from '@watchglass/go'
import type { Resource } from '@watchglass/kube'
import { matchesSelector } from '../../label-match.ts'
import { labelsOf } from '../pod-parts.ts'
import type { AdmissionAttributes } from '../plugin.ts'
import { nameOf } from '../refusals.ts'
import type { Hook, HookRule } from './hooks.ts'

/** The parts of a hook that say what it is about; policies have them, too. */
export type Matching = Pick<
  Hook,
  'rules' | 'matchesEquivalents' | 'namespaceSelector' | 'objectSelector'
>

/** The resource as the hook has it in its rules; undefined if it is not about the request. A
 *  promise only where the namespace has to be looked at. */
export function matchedResource(
  attributes: AdmissionAttributes,
  hook: Matching,
): Promise<Resource | undefined> | Resource | undefined {
  const found = namedResource(attributes, hook)
  if (found === undefined || !matchesObjects(attributes, hook)) return undefined
  if (isEmpty(hook.namespaceSelector)) return found
  return matchesNamespace(attributes, hook).then(matches => (matches ? found : undefined))
}

function namedResource(attributes: AdmissionAttributes, hook: Matching): Resource | undefined {
  const { session } = attributes
  const { resource, state } = session
  if (hook.rules.some(rule => covers(rule, attributes, resource))) return resource
  if (!hook.matchesEquivalents || resource.storage === undefined) return undefined
  const others = state.registry
    .resourcesAt(keyFromText(resource.storage.prefix))
    .filter(other => other !== resource)
  return hook.rules.flatMap(rule => others.filter(other => covers(rule, attributes, other))).at(0)
}

function covers(
  { groups, versions, resources, operations, scope, names }: HookRule,
  attributes: AdmissionAttributes,
  resource: Resource,
): boolean {
  const { operation, session } = attributes
  const has = (list: readonly string[], name: string): boolean =>
    list.includes('*') || list.includes(name)
  if (!has(groups, resource.group) || !has(versions, resource.version)) return false
  if (!has(operations, operation) || !isInScope(scope, session.kind)) return false
  if (names.length > 0 && !names.includes(nameOf(attributes))) return false
  const { subresource } = session
  return resources.some(text => {
    const [name = '', part = ''] = text.split('/')
    const isPart = part === subresource || part === '*'
    return isPart && (name === '*' || name === resource.resource)
  })
}

function isInScope(scope: string, kind: { readonly isNamespaced: boolean }): boolean {
  return scope === '*' || (scope === 'Namespaced') === kind.isNamespaced
}

/** The old or the new object is selected. */
function matchesObjects(
  { object, old }: AdmissionAttributes,
  { objectSelector }: Matching,
): boolean {
  if (isEmpty(objectSelector)) return true
  return [object, old].some(
    one => one !== undefined && matchesSelector(objectSelector, labelsOf(one)),
  )
}

async function matchesNamespace(attributes: AdmissionAttributes, hook: Matching): Promise<boolean> {
  const { session, object, old, operation } = attributes
  const { namespaceSelector } = hook
  const isNamespace = session.kind.group === '' && session.kind.resource === 'namespaces'
  if (!isNamespace && !session.kind.isNamespaced) return true
  // A namespace that is created, or changed, is selected by its own labels.
  const isOwn = isNamespace && session.subresource === ''
  const namespace = isOwn ? (operation === 'DELETE' ? old : object) : await attributes.namespace()
  return namespace !== undefined && matchesSelector(namespaceSelector, labelsOf(namespace))
}

function isEmpty(selector: Hook['objectSelector']): boolean {
  return selector instanceof Map && (selector as JsonObject).size === 0
}
