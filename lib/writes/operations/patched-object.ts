/** The object that a patch has made, decoded. Those of JSON and merge patches are decoded as what
 *  they say that they are, and converted; those of strategic ones as the kind that is written,
 *  whatever they say. */

import type { Steps } from '@watchglass/base'
import type { MessageType } from '@watchglass/codec'
import { copyTreeInSteps, goQuote, type JsonObject, type JsonValue } from '@watchglass/go'
import { groupVersionText, type StatusError } from '@watchglass/kube'
import { customRulesOf } from '../custom/custom-rules.ts'
import { completeBuiltIn, decodeNamed, isTakenAs, judged, schemeOf } from '../decode/body.ts'
import { typedText } from '../decode/complete-tree.ts'
import { type Named, namedIn, treeDocument } from '../decode/documents.ts'
import { convertTyped } from '../decode/typed-converter.ts'
import { DecodeError } from '../decode/typed-decoder.ts'
import { invalid, invalidObject } from '../field-errors.ts'
import { goValueText } from '../go-value-text.ts'
import type { Patched, PatchFormat } from '../patches/apply-patch.ts'
import type { WriteKind } from '../write-kind.ts'
import type { WriteOptions } from '../write-options.ts'
import { decodeCustomHead, kindNamed } from './custom-body.ts'
import { inVersion } from './ownership.ts'
import type { WriteSession } from './session.ts'

interface PatchedAs {
  readonly type: PatchFormat
  readonly options: WriteOptions
}

/** Decodes what a patch has made. */
export function* decodePatched(
  session: WriteSession,
  patched: Patched,
  { type, options }: PatchedAs,
): Steps<JsonObject> {
  const { kind } = session
  const { patched: value, patch } = patched
  const refuse = (message: string): StatusError => {
    const shown = type === 'strategic' ? goValueText(patch) : typedText(value)
    return invalidObject({ group: '', kind: '' }, '', [invalid('patch', shown, message)])
  }
  const judge = (strictErrors: readonly string[]): void => {
    const all = [...patched.strictErrors, ...strictErrors]
    session.warn(judged(all, options.fieldValidation, refuse))
  }
  try {
    if (kind.type === undefined) return yield* decodeCustom(session, value, judge)
    const typed = { ...kind, type: kind.type }
    if (type !== 'strategic') return decodeAsNamed(session, typed, { value, judge })
    const decoded = convertTyped(value, kind.type)
    judge(decoded.strictErrors)
    yield
    return completeBuiltIn(decoded.object, typed)
  } catch (error) {
    if (error instanceof DecodeError) throw refuse(error.message)
    throw error
  }
}

type Judge = (strictErrors: readonly string[]) => void

function decodeAsNamed(
  session: WriteSession,
  kind: WriteKind & { readonly type: MessageType },
  { value, judge }: { readonly value: JsonValue; readonly judge: Judge },
): JsonObject {
  const document = treeDocument(value)
  const found = namedIn(document)
  const named: Named = { ...found, kind: found.kind === '' ? kind.kind : found.kind }
  const isBare = named.version === '' && (named.group === '' || named.group === kind.group)
  if (named.version === '' && !isBare) {
    throw new DecodeError(`Object 'apiVersion' is missing in '${typedText(value)}'`)
  }
  if (isBare && kind.hasInternalType !== false) return decodeBare(kind, named, { value, judge })
  const { group, version } = isBare ? kind : named
  const decoded = decodeNamed(document, { ...named, group, version }, kind)
  judge(decoded.strictErrors)
  const apiVersion = groupVersionText(group, version)
  if (isTakenAs(kind, apiVersion)) return completeBuiltIn(decoded.object, kind)
  const type = kind.schema.findKind(apiVersion, named.kind)?.type ?? kind.type
  const complete = completeBuiltIn(decoded.object, { ...kind, apiVersion, type })
  return completeBuiltIn(inVersion(session, complete, kind.apiVersion), kind)
}

/** Go decodes an object without a version as its internal type, whose members have other names:
 *  nothing is left of it. */
function decodeBare(
  kind: WriteKind & { readonly type: MessageType },
  named: Named,
  { value, judge }: { readonly value: JsonValue; readonly judge: Judge },
): JsonObject {
  if (named.kind !== kind.kind) {
    const of = `the internal version of group ${goQuote(kind.group)}`
    throw new DecodeError(
      `no kind ${goQuote(named.kind)} is registered for ${of} in scheme ${schemeOf(kind)}`,
    )
  }
  const members = value instanceof Map ? [...value.keys()] : []
  const lost = members.filter(name => name !== 'kind' && name !== 'apiVersion')
  judge(lost.map(name => `unknown field ${goQuote(name)}`))
  return completeBuiltIn(new Map(), kind)
}

/** Only what says that it is of the kind is treated by the schema of its version. */
function* decodeCustom(session: WriteSession, value: JsonValue, judge: Judge): Steps<JsonObject> {
  if (!(value instanceof Map)) throw new DecodeError('the patch does not make an object')
  const object = yield* copyTreeInSteps(value)
  const named = namedIn(treeDocument(value))
  if (named.kind === '') {
    throw new DecodeError(`Object 'Kind' is missing in '${typedText(value)}'`)
  }
  const kind = kindNamed(session, named)
  if (kind === undefined) {
    judge(yield* decodeCustomHead(session.kind, object))
    return object
  }
  const rules = customRulesOf(kind)
  judge(yield* rules.prune(object))
  yield* rules.applyDefaults(object)
  return object
}
