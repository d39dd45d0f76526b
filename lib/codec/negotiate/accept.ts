/** Reads an Accept header into its clauses, in the order in which kube-apiserver tries them.
 *
 *  The reading is the one of github.com/munnerz/goautoneg, oddities included, because clients
 *  depend on what it accepts: names are case-sensitive, a quality that is no number is 0 (and a
 *  clause of quality 0 is still tried, last), a parameter without a value does not exist, and a
 *  clause whose type has no `/` is dropped, except `*`. */

import { sortUnstably, trimSpaces } from '@watchglass/go'

/** One clause of an Accept header: `type/subtype;name=value;q=0.5`. */
export interface AcceptClause {
  readonly type: string
  readonly subtype: string
  readonly quality: number
  /** Without `q`. A name that is given twice has its last value. */
  readonly parameters: ReadonlyMap<string, string>
}

/** Headers are read before anybody is known who sent them. Browsers send some 150 characters,
 *  clients of Kubernetes up to 200. */
export const acceptMaxLength: number = 4_096

/** The clauses of `header`, the preferred one first. One that is too long has none. */
export function acceptClauses(header: string): AcceptClause[] {
  if (header.length > acceptMaxLength) return []
  const clauses = splitUntilEmpty(header, ',')
    .map(clauseFromText)
    .filter(clause => clause !== undefined)
  // `isPreferred` is no total order, so the result depends on the algorithm.
  sortUnstably(clauses, isPreferred)
  return clauses
}

function clauseFromText(text: string): AcceptClause | undefined {
  const [range = '', ...parameterTexts] = splitUntilEmpty(trimSpaces(text), ';')
  const names = splitUntilEmpty(range, '/')
  const type = trimSpaces(names[0] ?? '')
  if (names.length > 2 || (names.length < 2 && type !== '*')) return undefined
  const parameters = new Map<string, string>()
  let quality = 1
  for (const parameter of parameterTexts) {
    const [name = '', value, ...rest] = splitUntilEmpty(parameter, '=')
    if (value === undefined || rest.length > 0) continue
    if (trimSpaces(name) === 'q') quality = qualityFromText(value)
    else parameters.set(trimSpaces(name), trimSpaces(value))
  }
  return { type, subtype: trimSpaces(names[1] ?? '*'), quality, parameters }
}

/** A number that Go's ParseFloat does not read counts as 0. */
function qualityFromText(text: string): number {
  return /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : 0
}

/** The parts between separators; a part that would be empty at the very end does not exist. */
function splitUntilEmpty(text: string, separator: string): string[] {
  const parts = text.split(separator)
  if (parts.at(-1) === '') parts.pop()
  return parts
}

function isPreferred(a: AcceptClause, b: AcceptClause): boolean {
  if (a.quality > b.quality) return true
  if (a.type !== '*' && b.type === '*') return true
  return a.subtype !== '*' && b.subtype === '*'
}

const knownRanges: ReadonlySet<string> = new Set([
  '*/*',
  'application/*',
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
])

const knownParameters: ReadonlySet<string> = new Set([
  'as',
  'g',
  'v',
  'stream',
  'sv',
  'pretty',
  'drop',
])
const knownRenderings: ReadonlySet<string> = new Set([
  'Table',
  'PartialObjectMetadata',
  'PartialObjectMetadataList',
])

/** True if the header names anything that is not known here, or is too long to be read: it may mean
 *  more to a later API server than to us. */
export function hasUnknownMediaType(accept: string | undefined): boolean {
  if (accept === undefined || accept === '') return false
  return accept.length > acceptMaxLength || acceptClauses(accept).some(isUnknown)
}

function isUnknown({ type, subtype, parameters: given }: AcceptClause): boolean {
  if (!knownRanges.has(`${type}/${subtype}`)) return true
  const rendering = given.get('as')
  if (rendering !== undefined && !knownRenderings.has(rendering)) return true
  return [...given.keys()].some(name => !knownParameters.has(name))
}
