/** The checks that objects of all kinds pass: is this the object that the request is about? */

import { itemsOf, type JsonObject, type JsonValue, memberOf, textFromTree } from '@watchglass/go'
import { badRequest } from '@watchglass/kube'
import { metadataOf, metaText, textOf } from '../metadata.ts'
import type { WriteSession } from './session.ts'

/** The namespace of the object is that of the path. */
export function checkNamespace(object: JsonObject, { kind, namespace }: WriteSession): void {
  const expected = kind.isNamespaced ? namespace : ''
  const given = metaText(object, 'namespace')
  if (given === expected) return
  if (given !== '' && expected !== '') {
    throw badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    )
  }
  if (expected === '') metadataOf(object).delete('namespace')
  else metadataOf(object).set('namespace', expected)
}

/** The name of the object is that of the path. */
export function checkName(object: JsonObject, { name }: WriteSession): void {
  const given = metaText(object, 'name')
  if (given === '') {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    )
  }
  if (given !== name) {
    throw badRequest(
      `the name of the object (${given}) does not match the name on the URL (${name})`,
    )
  }
}

/** Drops repeated owner references. Returns the warning, if there were any. */
export function dropRepeatedOwners(object: JsonObject, isPatch: boolean): string[] {
  const metadata = metadataOf(object)
  const seen = new Set<string>()
  const repeated: string[] = []
  const kept: JsonValue[] = []
  for (const owner of itemsOf(metadata.get('ownerReferences'))) {
    const text = textFromTree(owner)
    if (seen.has(text)) repeated.push(textOf(memberOf(owner, 'uid')))
    else kept.push(owner)
    seen.add(text)
  }
  if (repeated.length === 0) return []
  metadata.set('ownerReferences', kept)
  const when = isPatch ? ' after mutating admission happens' : ''
  return [
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`,
  ]
}
