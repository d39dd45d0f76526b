/** Text as Go writes it, and the Table of a server that declares no columns. */

import { columnsOfDefaultTable } from './default-columns.ts'

/** JSON with what Go escapes for the sake of HTML. */
export function goText(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The view that an Accept header asks for; undefined for what this server does not write by
 *  itself. */
export type View =
  | { readonly type: 'object' }
  | { readonly type: 'metadata'; readonly version: string }
  | { readonly type: 'Table'; readonly version: string; readonly includeObject: string }

export function viewOf(accept: string, includeObject: string): View | undefined {
  if (accept.startsWith('application/vnd.kubernetes.protobuf') || accept.includes('cbor')) {
    return undefined
  }
  const version = /;v=(v1(?:beta1)?)/.exec(accept)?.[1] ?? 'v1'
  if (accept.includes('as=Table')) return { type: 'Table', version, includeObject }
  if (accept.includes('as=PartialObjectMetadata')) return { type: 'metadata', version }
  return { type: 'object' }
}

export function metadataOf(object: object, version: string): object {
  const { metadata } = object as { metadata: object }
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata }
}

export function tableOf(
  objects: readonly object[],
  resourceVersion: string,
  { version, includeObject }: View & { type: 'Table' },
): object {
  const included = (object: object): object | null => {
    if (includeObject === 'None') return null
    return includeObject === 'Object' ? object : metadataOf(object, version)
  }
  const rows = objects.map(object => {
    const { metadata } = object as { metadata: { name: string; creationTimestamp?: string } }
    const created = metadata.creationTimestamp ?? '0001-01-01T00:00:00Z'
    return { cells: [metadata.name, created], object: included(object) }
  })
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata: { resourceVersion },
    columnDefinitions: columnsOfDefaultTable,
    rows: rows.length === 0 ? null : rows,
  }
}
