/** Accept headers that may mean more to a later API server than to us. */

import { acceptClauses, type AcceptClause, acceptMaxLength } from './accept.ts'

const ranges: ReadonlySet<string> = new Set([
  '*/*',
  'application/*',
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
])

const parameters: ReadonlySet<string> = new Set(['as', 'g', 'v', 'stream', 'sv', 'pretty'])
const renderings: ReadonlySet<string> = new Set([
  'Table',
  'PartialObjectMetadata',
  'PartialObjectMetadataList',
])

/** True if the header names anything that is not known here, or is too long to be read. */
export function hasUnknownMediaType(accept: string | undefined): boolean {
  if (accept === undefined || accept === '') return false
  return accept.length > acceptMaxLength || acceptClauses(accept).some(isUnknown)
}

function isUnknown({ type, subtype, parameters: given }: AcceptClause): boolean {
  if (!ranges.has(`${type}/${subtype}`)) return true
  const rendering = given.get('as')
  if (rendering !== undefined && !renderings.has(rendering)) return true
  return [...given.keys()].some(name => !parameters.has(name))
}
