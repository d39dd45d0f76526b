/** Namespaces: active from the beginning, and held by a finalizer of their own until they are
 *  empty. */

import { type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { copyMember } from '../metadata.ts'
import type { StrategyRow } from './row.ts'

const finalizer = 'kubernetes'

export const namespaces: StrategyRow = {
  hasStatus: true,
  returnsDeleted: true,
  prepareCreate: object => {
    object.set('status', new Map([['phase', 'Active']]))
    const spec = specOf(object)
    const known = spec.get('finalizers')
    const finalizers: JsonValue[] = Array.isArray(known) ? [...known] : []
    if (!finalizers.includes(finalizer)) finalizers.push(finalizer)
    spec.set('finalizers', finalizers)
  },
  prepareUpdate: (object, old) => keepFinalizers(object, old),
  subresources: {
    finalize: (object, old) => copyMember(object, old, 'status'),
  },
}

function specOf(object: JsonObject): JsonObject {
  const known = object.get('spec')
  const spec: JsonObject = known instanceof Map ? known : new Map()
  object.set('spec', spec)
  return spec
}

function keepFinalizers(object: JsonObject, old: JsonObject): void {
  const finalizers = memberOf(old.get('spec'), 'finalizers')
  if (finalizers === undefined) specOf(object).delete('finalizers')
  else specOf(object).set('finalizers', finalizers)
}
