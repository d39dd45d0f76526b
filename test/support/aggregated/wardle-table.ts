/** Text as Go writes it, and the Table of a server that declares no columns. */

import { columnsOfDefaultTable } from './default-columns.ts'

/** JSON with what Go escapes for the sake of HTML. */
export function goText(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

export function tableOf(objects: readonly object[], resourceVersion: string): object {
  const rows = objects.map(object => {
    const { metadata } = object as { metadata: { name: string; creationTimestamp: string } }
    return {
      cells: [metadata.name, metadata.creationTimestamp],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata },
    }
  })
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion },
    columnDefinitions: columnsOfDefaultTable,
    rows: rows.length === 0 ? null : rows,
  }
}
