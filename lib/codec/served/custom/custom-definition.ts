/** Reads from a stored CustomResourceDefinition how its objects are read. */

import { type CustomDefinitionParts, CustomKind } from './custom.ts'
import { NotExact } from '../../not-exact.ts'
import type { StoredValue } from '../view.ts'

/** The reader of the objects that the definition in `value` declares: JSON of apiextensions.k8s.io/v1beta1, or v1. Costs about
 *  as much as hundreds of objects, so keep it as long as the definition stays the same. */
export function customKindOf({ bytes, start, end }: StoredValue): CustomKind | NotExact {
  let parsed: unknown
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString()
    parsed = JSON.parse(text)
  } catch {
    return new NotExact('stored definition is not JSON')
  }
  const spec = memberOf(parsed, 'spec')
  const group = textOf(memberOf(spec, 'group'))
  const names = memberOf(memberOf(parsed, 'status'), 'acceptedNames')
  const kind = textOf(memberOf(names, 'kind')) || textOf(memberOf(memberOf(spec, 'names'), 'kind'))
  const versions = versionsOf(spec)
  if (group === '' || kind === '' || versions.length === 0) {
    return new NotExact('stored definition lacks its group, kind or versions')
  }
  const isOld = memberOf(parsed, 'apiVersion') === 'apiextensions.k8s.io/v1beta1'
  const preserves = memberOf(spec, 'preserveUnknownFields') ?? isOld
  const strategy = memberOf(memberOf(spec, 'conversion'), 'strategy')
  return new CustomKind({
    group,
    kind,
    versions,
    preservesUnknownFields: preserves === true,
    conversion: strategy === 'Webhook' ? 'webhook' : 'none',
  })
}

/** v1beta1 hoists a schema that all versions share, and its oldest form has one version by name. */
function versionsOf(spec: unknown): CustomDefinitionParts['versions'] {
  const shared = schemaIn(memberOf(spec, 'validation'))
  const listed = memberOf(spec, 'versions')
  const versions = Array.isArray(listed) && listed.length > 0 ? (listed as unknown[]) : undefined
  if (versions === undefined) {
    const name = textOf(memberOf(spec, 'version'))
    return name === '' ? [] : [{ name, schema: shared }]
  }
  return versions.map(version => ({
    name: textOf(memberOf(version, 'name')),
    schema: shared ?? schemaIn(memberOf(version, 'schema')),
  }))
}

function schemaIn(holder: unknown): unknown {
  return memberOf(holder, 'openAPIV3Schema') ?? undefined
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
