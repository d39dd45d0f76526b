/** PATCH: the object as it is now, changed by what the client sends, decoded again, and stored
 *  like an update. */

import type { MessageType } from '../../../codec/schema/schema.ts'
import { copyTree, type JsonObject, type JsonValue } from '../../../codec/json/tree.ts'
import type { FieldError } from '../field-errors.ts'
import { badRequest, objectNotFound, type StatusError } from '../../../kube/status.ts'
import { customRulesOf } from '../custom/custom-rules.ts'
import { completeBuiltIn, judged, unknownBody } from '../decode/body.ts'
import { typedText } from '../decode/complete-tree.ts'
import { treeDocument } from '../decode/documents.ts'
import { DecodeError, decodeTyped } from '../decode/typed-decoder.ts'
import { parseYaml } from '../decode/yaml-body.ts'
import { invalid, invalidObject } from '../field-errors.ts'
import { metaText } from '../metadata.ts'
import { applyPatch, type Patched, type PatchType } from '../patches/apply-patch.ts'
import { goValueText } from '../go-value-text.ts'
import { conflict } from '../refusals.ts'
import { parseWriteOptions, type WriteOptions } from '../write-options.ts'
import { admissionOf } from './admission.ts'
import { checkName, checkNamespace, dropRepeatedOwners } from './checks.ts'
import { applied, owned } from './ownership.ts'
import type { Written, WriteSession } from './session.ts'
import { updateObject } from './store-object.ts'
import type { WriteKind } from '../write-kind.ts'
import type { WriteBody } from './write.ts'

const typeByName: ReadonlyMap<string, PatchType | 'apply'> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
])

/** Changes an object by a patch. */
export async function patch(session: WriteSession, sent: WriteBody): Promise<Written> {
  const { make, options, isApply } = patchMaker(session, sent)
  const admission = admissionOf(session, options)
  return updateObject(session, {
    uid: '',
    // Nobody creates an object by its status.
    mayCreate: isApply && session.subresource === '',
    admission,
    make: async live => {
      const made = await make(live)
      if (live === undefined && metaText(made, 'uid') !== '') {
        const reason = `uid mismatch: the provided object specified uid ${metaText(made, 'uid')}, and no existing object was found`
        throw conflict(session.resource, session.name, reason)
      }
      checkNamespace(made, session)
      checkName(made, session)
      await admission.mutate(made, live)
      session.warn(dropRepeatedOwners(made, true))
      return made
    },
  })
}

/** The change that a patch makes. */
interface PatchMaker {
  readonly make: (live: JsonObject | undefined) => Promise<JsonObject>
  readonly options: WriteOptions
  /** It may create the object, too. */
  readonly isApply: boolean
}

/** Reads what kind of patch it is, and its options. */
export function patchMaker(session: WriteSession, sent: WriteBody): PatchMaker {
  const type = patchTypeOf(session, sent.contentType)
  const isApply = type === 'apply'
  const options = parseWriteOptions(sent.query, 'PatchOptions', isApply)
  const { body } = sent
  const make: PatchMaker['make'] = live =>
    type === 'apply'
      ? applyConfiguration(session, live, { body, options })
      : patched(session, live, { body, type, options })
  return { make, options, isApply }
}

function patchTypeOf({ kind }: WriteSession, contentType = ''): PatchType | 'apply' {
  const type = typeByName.get(contentType.replace(/;.*$/s, ''))
  if (type !== undefined && (kind.type !== undefined || type !== 'strategic')) return type
  const known = [...typeByName.keys()]
  throw unknownBody(kind.type === undefined ? known.filter((_, i) => i !== 2) : known)
}

interface PatchRequest {
  readonly body: Uint8Array
  readonly type: PatchType
  readonly options: WriteOptions
}

async function patched(
  session: WriteSession,
  live: JsonObject | undefined,
  { body, type, options }: PatchRequest,
): Promise<JsonObject> {
  const { kind, resource, name } = session
  if (live === undefined) throw objectNotFound(resource, name)
  const isChecked = options.fieldValidation !== 'Ignore'
  const result = applyPatch(kind, live, { type, body, isChecked })
  await session.slice.giveWay()
  const object = decodeTree(session, result, { type, options })
  await session.slice.giveWay()
  return owned(session, { live, object, options })
}

/** Decodes what a patch has made. */
function decodeTree(
  session: WriteSession,
  { patched: value, strictErrors, patch: sent }: Patched,
  { type, options }: Pick<PatchRequest, 'type' | 'options'>,
): JsonObject {
  const { kind } = session
  const refuse = (message: string): StatusError => {
    const shown = type === 'strategic' ? goValueText(sent) : typedText(value)
    const errors: FieldError[] = [invalid('patch', shown, message)]
    return invalidObject({ group: '', kind: '' }, '', errors)
  }
  try {
    if (kind.type === undefined) {
      return decodeCustomTree(session, value, { strictErrors, options, refuse })
    }
    const decoded = decodeTyped(treeDocument(value), kind.type)
    const all = [...strictErrors, ...decoded.strictErrors]
    session.warn(judged(all, options.fieldValidation, refuse))
    return completeBuiltIn(decoded.object, { ...kind, type: kind.type })
  } catch (error) {
    if (error instanceof DecodeError) throw refuse(error.message)
    throw error
  }
}

interface Judging {
  readonly strictErrors: readonly string[]
  readonly options: WriteOptions
  readonly refuse: (message: string) => StatusError
}

function decodeCustomTree(
  session: WriteSession,
  value: JsonValue,
  { strictErrors, options, refuse }: Judging,
): JsonObject {
  const object = copyTree(value)
  if (!(object instanceof Map)) throw new DecodeError('the patch does not make an object')
  const rules = customRulesOf(session.kind)
  const unknown = rules.prune(object)
  session.warn(judged([...strictErrors, ...unknown], options.fieldValidation, refuse))
  rules.applyDefaults(object)
  return object
}

async function applyConfiguration(
  session: WriteSession,
  live: JsonObject | undefined,
  { body, options }: { readonly body: Uint8Array; readonly options: WriteOptions },
): Promise<JsonObject> {
  const { kind } = session
  let parsed
  try {
    parsed = await session.slice.take(parseYaml(body))
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(`error decoding YAML: ${error.message}`)
    throw error
  }
  const { value, strictErrors } = parsed
  const configuration: JsonObject = value instanceof Map ? value : new Map()
  await session.slice.giveWay()
  const merged = await applied(session, { live, object: configuration, options })
  session.warn(
    strictErrors.length === 0 || options.fieldValidation === 'Ignore'
      ? []
      : judgedYaml(strictErrors, options),
  )
  await session.slice.giveWay()
  try {
    if (kind.type !== undefined) {
      return decodeMerged(merged, { ...kind, type: kind.type })
    }
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message)
    throw error
  }
  return defaultedCustom(kind, merged)
}

function decodeMerged(
  merged: JsonObject,
  kind: WriteKind & { readonly type: MessageType },
): JsonObject {
  const { object } = decodeTyped(treeDocument(merged), kind.type)
  return completeBuiltIn(object, kind)
}

/** The result of an apply is not pruned: an object that has lost all its members is null, and
 *  refused where null is not allowed. */
function defaultedCustom(kind: WriteKind, merged: JsonObject): JsonObject {
  const object = copyTree(merged) as JsonObject
  const rules = customRulesOf(kind)
  const named = ['apiVersion', 'kind', 'metadata'].flatMap(name => {
    const value = object.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const head: JsonObject = new Map(named)
  rules.prune(head)
  for (const [name, value] of head) object.set(name, value)
  rules.applyDefaults(object)
  return object
}

function judgedYaml(strictErrors: readonly string[], options: WriteOptions): readonly string[] {
  if (options.fieldValidation === 'Warn') return strictErrors
  throw badRequest(`error strict decoding YAML: ${strictErrors.join(', ')}`)
}
