/** Field selectors: `status.phase=Running,spec.nodeName!=a`, with the grammar, the escapes and the
 *  error texts of k8s.io/apimachinery's package fields. Each resource has its own fields: see
 *  `resolveFields`. */

import type { Resource } from '../resources/resource.ts'
import { badRequest } from '../status.ts'

/** One condition; an object must meet all. */
export interface FieldRequirement {
  readonly label: string
  readonly value: string
  /** False: the field must have any other value. */
  readonly isEqual: boolean
}

/** A parsed field selector; without requirements it selects everything. */
export class FieldSelector {
  readonly requirements: readonly FieldRequirement[]
  readonly isEmpty: boolean

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements
    this.isEmpty = requirements.length === 0
  }

  /** The value that a field must have; the first one, if there are contradictions. */
  exactValue(label: string): string | undefined {
    return this.requirements.find(term => term.isEqual && term.label === label)?.value
  }
}

/** Selects everything. */
export const everyField: FieldSelector = new FieldSelector([])

/** Parses a selector; refuses a malformed one with upstream's 400. O(length). */
export function parseFieldSelector(text: string): FieldSelector {
  const requirements: FieldRequirement[] = []
  const terms = splitTerms(text).sort(compareBytes)
  for (const term of terms) {
    if (term === '') continue
    const requirement = parseTerm(term)
    if (requirement === undefined) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
    }
    const { label, value, isEqual } = requirement
    if (label !== '' || value !== '') requirements.push({ label, value, isEqual })
  }
  return requirements.length === 0 ? everyField : new FieldSelector(requirements)
}

/** The selector in terms of the fields of a resource; refuses fields that it does not have with
 *  upstream's 400. */
export function resolveFields(selector: FieldSelector, resource: Resource): FieldSelector {
  for (const { label } of selector.requirements) {
    if (!resource.fields.some(field => field.label === label)) {
      throw badRequest(resource.unknownField(label))
    }
  }
  return selector
}

/** Splits terms at commas that are not escaped by a backslash. */
function splitTerms(text: string): string[] {
  if (text === '') return []
  const terms: string[] = []
  let from = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === ',') {
      terms.push(text.slice(from, at))
      from = at + 1
    }
  }
  return [...terms, text.slice(from)]
}

function parseTerm(term: string): FieldRequirement | undefined {
  const match = /!=|==|=/.exec(term)
  if (match === null) return undefined
  const [operator] = match
  return {
    label: term.slice(0, match.index),
    value: unescapeValue(term.slice(match.index + operator.length)),
    isEqual: operator !== '!=',
  }
}

function unescapeValue(text: string): string {
  let value = ''
  const chars = Array.from(text)
  for (let i = 0; i < chars.length; i++) {
    let char = chars[i] ?? ''
    if (char === ',' || char === '=') {
      throw badRequest(
        `invalid field selector: unescaped character in value: ${char.codePointAt(0)}`,
      )
    }
    if (char === '\\') {
      char = chars[++i] ?? ''
      if (char !== '\\' && char !== ',' && char !== '=') {
        throw badRequest(`invalid field selector: invalid escape sequence: \\${char}`)
      }
    }
    value += char
  }
  return value
}

/** The order of UTF-8 bytes, in which upstream sorts the terms before it reads them. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
