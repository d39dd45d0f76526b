/** Namespaces: active from the beginning, and held by a finalizer of their own until they are
 *  empty. */

import { type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { copyMember } from '../../metadata.ts'
import { dnsLabel, qualifiedName } from '../../validation/formats.ts'
import { checkFinalizerDomain } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const namespace: BuiltInKind = kind({
  group: '',
  kind: 'Namespace',
  plural: 'namespaces',
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
  nameFormat: dnsLabel,
  isCheckedAsNew: true,
  validateCreate: object => {
    for (const { text } of object.in('spec', 'finalizers').items) {
      checkFinalizer(object.in('spec', 'finalizers'), text)
    }
  },
  subresources: {
    finalize: {
      resets: ['status'],
      prepare: (object, old) => copyMember(object, old, 'status'),
      validate: object => {
        for (const item of object.in('spec', 'finalizers').items) checkFinalizer(item, item.text)
      },
    },
    status: {
      validate: checkNamespaceStatus,
    },
  },
})

const finalizer = 'kubernetes'

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

/** Checks a finalizer of a namespace. */
function checkFinalizer(place: Place, name: string): void {
  place.invalidFor(qualifiedName(name), name)
  checkFinalizerDomain(place.as(place.path, name))
}

function checkNamespaceStatus(object: Place): void {
  const phase = object.in('status', 'phase')
  const isDeleted = object.in('metadata', 'deletionTimestamp').isSet
  const expected = isDeleted ? 'Terminating' : 'Active'
  if (phase.text === expected) return
  const when = isDeleted ? 'is not empty' : 'is empty'
  object
    .as('status.Phase', phase.text)
    .invalid(`may only be '${expected}' if \`deletionTimestamp\` ${when}`)
}
