/** The kinds that resources are written as. Made once for each resource, as a registry has them. */

import type { Schema } from '@watchglass/codec'
import { groupVersionText, type Resource } from '@watchglass/kube'
import type { WriteKind } from './write-kind.ts'

const kinds = new WeakMap<Resource, WriteKind>()

/** The kind that objects of the resource are written as. */
export function writeKindOf(resource: Resource, schema: Schema): WriteKind {
  let kind = kinds.get(resource)
  if (kind === undefined) {
    kind = makeKind(resource, schema)
    kinds.set(resource, kind)
  }
  return kind
}

function makeKind(resource: Resource, schema: Schema): WriteKind {
  const { group, version, kind, isNamespaced, custom, subresources } = resource
  const apiVersion = groupVersionText(group, version)
  const definition = custom?.definition
  return {
    schema,
    group,
    version,
    apiVersion,
    kind,
    resource: resource.resource,
    isNamespaced,
    type: custom === undefined ? schema.findKind(apiVersion, kind)?.type : undefined,
    definition:
      custom === undefined || definition === undefined
        ? undefined
        : {
            name: definition,
            schema: custom.schema,
            preservesUnknownFields: custom.preservesUnknownFields,
            hasStatus: subresources.some(({ name }) => name === 'status'),
            scale: subresources.find(({ name }) => name === 'scale')?.scale,
          },
  }
}
