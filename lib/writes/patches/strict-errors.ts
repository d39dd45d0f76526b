/** Errors of a strict decoder about the document of a patch. */

import { appendAll } from '../lists.ts'
import { goQuote, type JsonValue, type ParsedDocument } from '@watchglass/go'
import type { JsonPatchOperation } from './json-patch.ts'

/** No more than this many are reported. */
const errorsMax = 100

/** Errors of operations: members that mean nothing, and repeated ones. */
export function jsonPatchErrors(
  operations: readonly JsonPatchOperation[],
  document: ParsedDocument,
): string[] {
  const errors: string[] = []
  for (const [i, operation] of operations.entries()) {
    const seen = new Set<string>()
    for (const [name, value] of document.membersOf(operation)) {
      const path = `[${String(i)}].${name}`
      if (!operationMembers.has(name)) {
        errors.push(`json patch unknown field ${goQuote(path)}`)
        continue
      }
      if (seen.has(name)) errors.push(`json patch duplicate field ${goQuote(path)}`)
      seen.add(name)
      if (name === 'value' && document.hasRepeatedMembers) {
        for (const error of repeatedIn(value, document, path)) errors.push(`json patch ${error}`)
      }
    }
  }
  return errors.slice(0, errorsMax)
}

/** Members that stand in one object twice, wherever in the document. */
export function repeatedMembers(document: ParsedDocument): string[] {
  if (!document.hasRepeatedMembers) return []
  return repeatedIn(document.value, document, '').slice(0, errorsMax)
}

const operationMembers: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value'])

function repeatedIn(value: JsonValue, document: ParsedDocument, path: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => repeatedIn(item, document, `${path}[${String(i)}]`))
  }
  if (!(value instanceof Map)) return []
  const errors: string[] = []
  const seen = new Set<string>()
  for (const [name, member] of document.membersOf(value)) {
    const inner = path === '' ? name : `${path}.${name}`
    if (seen.has(name)) errors.push(`duplicate field ${goQuote(inner)}`)
    seen.add(name)
    appendAll(errors, repeatedIn(member, document, inner))
  }
  return errors
}
