/** ServiceAccounts: of their secrets only the names are kept. */

import { type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { checkNewMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { hasAnnotation } from '../../warnings/annotations.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const serviceAccount: BuiltInKind = kind({
  group: '',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  returnsDeleted: true,
  prepareCreate: nameOnly,
  prepareUpdate: nameOnly,
  validateUpdate: object => checkNewMeta(object),
  warn: ofServiceAccount,
})

/** Keeps only the names of a ServiceAccount's secrets. */
function nameOnly(object: JsonObject): void {
  const secrets = object.get('secrets')
  if (!Array.isArray(secrets)) return
  const names = secrets.map(
    (secret): JsonValue => new Map([['name', memberOf(secret, 'name') ?? '']]),
  )
  object.set('secrets', names)
}

const mountableSecrets = 'kubernetes.io/enforce-mountable-secrets'

function ofServiceAccount(object: Place, old: Place | undefined): string[] {
  return hasAnnotation(object, mountableSecrets) && !hasAnnotation(old, mountableSecrets)
    ? [
        `metadata.annotations[${mountableSecrets}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
      ]
    : []
}
