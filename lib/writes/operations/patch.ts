/** PATCH: the object as it is now, changed by what the client sends, decoded again, and stored
 *  like an update. */

import type { Steps } from '@watchglass/base'
import type { MessageType } from '@watchglass/codec'
import { copyTreeInSteps, type JsonObject } from '@watchglass/go'
import { badRequest, objectNotFound, plainError } from '@watchglass/kube'
import { customRulesOf } from '../custom/custom-rules.ts'
import { wellFormed } from '../custom/embedded-resources.ts'
import { completeBuiltIn, unknownBody } from '../decode/body.ts'
import { convertTyped } from '../decode/typed-converter.ts'
import { DecodeError, kindOf } from '../decode/typed-decoder.ts'
import { parseYaml } from '../decode/yaml-body.ts'
import { metaText } from '../metadata.ts'
import { applyPatch, type PatchFormat } from '../patches/apply-patch.ts'
import { conflict } from '../refusals.ts'
import { strategyOf } from './strategy.ts'
import { parseWriteOptions, type WriteOptions } from '../write-options.ts'
import { admissionOf } from './admission.ts'
import { decodeCustomHead } from './custom-body.ts'
import { checkName, checkNamespace, dropRepeatedOwners } from './checks.ts'
import { applied, owned } from './ownership.ts'
import { decodePatched } from './patched-object.ts'
import type { Written, WriteSession } from './session.ts'
import { updateObject } from './store-object.ts'
import type { WriteKind } from '../write-kind.ts'
import type { WriteBody } from './write.ts'

const typeByName: ReadonlyMap<string, PatchFormat | 'apply'> = new Map([
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
    mayCreate: isApply && mayCreate(session),
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

/** Whether the patch may create the object: hardly any kind is created by its status. */
function mayCreate({ kind, subresource }: WriteSession): boolean {
  if (subresource === '') return true
  return subresource === 'status' && strategyOf(kind, '').createsByStatus === true
}

/** The change that a patch makes. */
interface PatchMaker {
  readonly make: (live: JsonObject | undefined) => Promise<JsonObject>
  readonly options: WriteOptions
  /** An apply may create the object, too. */
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

function patchTypeOf({ resource }: WriteSession, contentType = ''): PatchFormat | 'apply' {
  const type = typeByName.get(contentType.replace(/;.*$/s, ''))
  const isCustom = resource.custom !== undefined
  if (type !== undefined && !(isCustom && type === 'strategic')) return type
  const known = [...typeByName.keys()]
  throw unknownBody(isCustom ? known.filter((_, i) => i !== 2) : known)
}

interface PatchRequest {
  readonly body: Uint8Array
  readonly type: PatchFormat
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
  const { slice } = session
  const result = await slice.take(applyPatch(kind, live, { type, body, isChecked }))
  await slice.giveWay()
  const object = await slice.take(decodePatched(session, result, { type, options }))
  await slice.giveWay()
  return owned(session, { live, object, options })
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
  if (value !== null && !(value instanceof Map)) {
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${kindOf(value)} into Go value of type map[string]interface {}`,
    )
  }
  const configuration: JsonObject = value ?? new Map()
  await session.slice.giveWay()
  const merged = await applied(session, { live, object: configuration, options })
  await session.slice.giveWay()
  const object =
    kind.type === undefined
      ? await session.slice.take(defaultedCustom(kind, merged))
      : converted(merged, { ...kind, type: kind.type }, configuration)
  session.warn(
    strictErrors.length === 0 || options.fieldValidation === 'Ignore'
      ? []
      : judgedYaml(strictErrors, options),
  )
  return object
}

function converted(
  merged: JsonObject,
  kind: WriteKind & { readonly type: MessageType },
  configuration: JsonObject,
): JsonObject {
  try {
    return completeBuiltIn(convertTyped(merged, kind.type).object, kind)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    const { apiVersion, kind: name } = kind
    const type = `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${name}`
    const of = `${metaText(configuration, 'namespace')}/${metaText(configuration, 'name')}; ${type}`
    throw plainError(
      `failed to convert new object (${of}) to proper version: unable to convert unstructured object to ${type}: ${error.message}`,
    )
  }
}

/** The result of an apply is not pruned: an object that has lost all its members is null, and
 *  refused where null is not allowed. */
function* defaultedCustom(kind: WriteKind, merged: JsonObject): Steps<JsonObject> {
  const object = yield* copyTreeInSteps(merged)
  yield
  const metadata = object.get('metadata')
  if (metadata !== undefined) object.set('metadata', wellFormed(metadata, kind.schema))
  yield
  yield* decodeCustomHead(kind, object)
  yield* customRulesOf(kind).applyDefaults(object)
  return object
}

function judgedYaml(strictErrors: readonly string[], options: WriteOptions): readonly string[] {
  if (options.fieldValidation === 'Warn') return strictErrors
  throw badRequest(`error strict decoding YAML: ${strictErrors.join(', ')}`)
}
