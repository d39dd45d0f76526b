/** The objects in a document: one, or those of a list such as `kubectl get -o json` prints. */

import { isObject, textOf, type UntypedObject } from '@watchglass/base'

/** Items of a typed list, such as a PodList, have no kind of their own: it follows from that of
 *  the list. */
export function listedObjects(document: UntypedObject): UntypedObject[] {
  const { apiVersion, items } = document
  const kind = textOf(document['kind'])
  if (!kind.endsWith('List') || !Array.isArray(items)) return [document]
  const itemKind = kind.slice(0, -'List'.length)
  const rest = itemKind === '' ? {} : { apiVersion, kind: itemKind }
  return items.filter(isObject).map(item => ({ ...rest, ...item }))
}
