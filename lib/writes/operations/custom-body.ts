/** Bodies of custom resources: read into maps, pruned by the schema of their version, defaulted. */

import type { Steps } from '@watchglass/base'
import { appendAll } from '../lists.ts'
import { goQuote, type JsonObject, type ParsedDocument } from '@watchglass/go'
import { groupVersionText } from '@watchglass/kube'
import {
  type DecodedBody,
  type DecodeRequest,
  documentOf,
  judged,
  otherVersion,
  refusal,
} from '../decode/body.ts'
import { type Named, namedIn } from '../decode/documents.ts'
import { DecodeError } from '../decode/typed-decoder.ts'
import { customRulesOf } from '../custom/custom-rules.ts'
import { writeKindOf } from '../write-kinds.ts'
import type { WriteKind } from '../write-kind.ts'
import type { WriteSession } from './session.ts'

/** Decodes an object of a custom kind. */
export async function decodeCustom(
  session: WriteSession,
  request: DecodeRequest,
): Promise<DecodedBody> {
  const { kind } = session
  const { body, form, fieldValidation } = request
  const parsed = await documentOf(kind, { body, form }, session.slice)
  const { document, strictErrors: parserErrors } = parsed
  let named: Named
  try {
    named = namedIn(document)
  } catch (error) {
    throw refusal(kind, undefined, error, body)
  }
  const object = document.value instanceof Map ? document.value : new Map()
  if (named.kind === '') {
    const text = Buffer.from(body).toString()
    throw refusal(kind, undefined, new DecodeError(`Object 'Kind' is missing in '${text}'`), body)
  }
  const apiVersion = groupVersionText(named.group, named.version)
  const read = kindNamed(session, named)
  await session.slice.giveWay()
  const strictErrors = [...parserErrors, ...repeatedMembers(document)]
  await session.slice.giveWay()
  if (read !== undefined) {
    try {
      appendAll(strictErrors, await session.slice.take(customRulesOf(read).prune(object)))
    } catch (error) {
      throw refusal(kind, named, error)
    }
  }
  const warnings = judged(strictErrors, fieldValidation, message =>
    refusal(kind, named, new DecodeError(message)),
  )
  session.warn(warnings)
  if (apiVersion !== kind.apiVersion) throw otherVersion(apiVersion, kind)
  await session.slice.giveWay()
  await session.slice.take(customRulesOf(kind).applyDefaults(object))
  return { object, warnings: [] }
}

/** The kind of that name in a version of the same group. */
export function kindNamed(
  { kind, state, resource }: WriteSession,
  named: Named,
): WriteKind | undefined {
  if (named.kind !== kind.kind || named.group !== kind.group) return undefined
  if (named.version === kind.version) return kind
  const other = state.registry.find(named.group, named.version, resource.resource)
  // A version that does not exist has no schema.
  return other === undefined ? kind : writeKindOf(other, state.registry.schema)
}

/** Decodes the metadata of an object of any kind; returns the errors of a strict decoder. */
export function* decodeCustomHead(kind: WriteKind, object: JsonObject): Steps<string[]> {
  const named = ['apiVersion', 'kind', 'metadata'].flatMap(name => {
    const value = object.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const head: JsonObject = new Map(named)
  const unknown = yield* customRulesOf(kind).prune(head)
  for (const [name, value] of head) object.set(name, value)
  return unknown
}

/** Repeated members: a strict decoder of maps reports each. */
function repeatedMembers({ value, membersOf, hasRepeatedMembers }: ParsedDocument): string[] {
  if (!hasRepeatedMembers) return []
  const found = new Set<string>()
  const walk = (node: unknown, path: string): void => {
    if (Array.isArray(node)) {
      for (const [i, item] of node.entries()) walk(item, `${path}[${i}]`)
      return
    }
    if (!(node instanceof Map)) return
    const seen = new Set<string>()
    for (const [name, member] of membersOf(node as JsonObject)) {
      const inner = path === '' ? name : `${path}.${name}`
      if (seen.has(name)) found.add(`duplicate field ${goQuote(inner)}`)
      seen.add(name)
      walk(member, inner)
    }
  }
  walk(value, '')
  return [...found]
}
