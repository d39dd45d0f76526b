/** The selectable fields of a version of a CustomResourceDefinition, checked as upstream checks
 *  them when the definition is written. A definition that was written to etcd directly may declare
 *  anything: invalid fields are reported and ignored, the others work. */

import type { SelectableField } from '@watchglass/codec'
import { listOf, memberOf, objectOf, textOf } from '@watchglass/base'

/** Upstream's limit. */
const selectableFieldsMax = 8

export interface SelectableFields {
  readonly fields: readonly SelectableField[]
  /** Ignored fields, each with its reason. */
  readonly problems: readonly string[]
}

/** The fields that every custom resource has. */
export function metadataFields(isNamespaced: boolean): SelectableField[] {
  const labels = isNamespaced ? ['metadata.name', 'metadata.namespace'] : ['metadata.name']
  return labels.map(label => ({ label, paths: [label], fallback: '' }))
}

/** Used if there is no schema: any path may lead to a field. */
export const anySchema: unique symbol = Symbol('any schema')

/** The valid ones of `declared`, which is `selectableFields` as it is written in the definition. */
export function selectableFields(declared: unknown, schema: unknown): SelectableFields {
  const fields: SelectableField[] = []
  const problems: string[] = []
  const seen = new Set<string>()
  for (const item of listOf(declared)) {
    const jsonPath = textOf(objectOf(item)['jsonPath'])
    const segments = simplePath(jsonPath)
    const problem = problemWith(segments, schema, seen)
    if (problem !== undefined || segments === undefined) {
      problems.push(`selectable field ${jsonPath || '(no path)'} is ignored: ${problem}`)
      continue
    }
    seen.add(segments.join('\0'))
    fields.push({ label: jsonPath.slice(1), paths: [pathText(segments)], fallback: '' })
  }
  return { fields, problems }
}

function problemWith(
  segments: readonly string[] | undefined,
  schema: unknown,
  seen: ReadonlySet<string>,
): string | undefined {
  if (segments === undefined) return 'the path must be names that follow dots, without arrays'
  if (segments[0] === 'metadata') return 'it must not point to fields in metadata'
  if (seen.has(segments.join('\0'))) return 'it is a duplicate'
  if (seen.size >= selectableFieldsMax) return `there may be at most ${selectableFieldsMax}`
  if (schema === anySchema) return undefined
  const found = schemaAt(schema, segments)
  if (found === undefined) return 'the schema has no such field'
  return isSelectable(found) ? undefined : 'it must be a string, a boolean or an integer'
}

/** The names of `.a.b` or `.a['b.c']`; undefined for anything else. */
function simplePath(jsonPath: string): string[] | undefined {
  const segments: string[] = []
  let rest = jsonPath
  while (rest !== '') {
    const match = /^(?:\.([^.[\]'\s]+)|\['([^']+)'\])/.exec(rest)
    const segment = match?.[1] ?? match?.[2]
    if (match === null || segment === undefined) return undefined
    segments.push(segment)
    rest = rest.slice(match[0].length)
  }
  return segments.length === 0 || !jsonPath.startsWith('.') ? undefined : segments
}

/** A field path with dots between names; dots in a name are escaped, as the field reader
 *  expects. */
function pathText(segments: readonly string[]): string {
  return segments.map(segment => segment.replaceAll('.', '\\.')).join('.')
}

function schemaAt(schema: unknown, segments: readonly string[]): unknown {
  let found = schema
  for (const segment of segments) {
    found = memberOf(memberOf(found, 'properties'), segment)
    if (found === undefined) return undefined
  }
  return found
}

function isSelectable(schema: unknown): boolean {
  if (memberOf(schema, 'x-kubernetes-int-or-string') === true) return true
  return ['string', 'boolean', 'integer'].includes(textOf(memberOf(schema, 'type')))
}
