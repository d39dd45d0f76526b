/** Makes the recorded answers again: from the recorded history, through the pure layer, to
 *  bytes. */

import { negotiateWatch } from '../support/kube/negotiate.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import type { ListMeta } from '../../lib/codec/output/list-meta.ts'
import { keyFromText } from '../../lib/base/keys.ts'
import {
  ObjectEncoder,
  type OutputForm,
  includedObject,
} from '../../lib/codec/output/object-encoder.ts'
import { listBody } from '../../lib/codec/output/list-body.ts'
import {
  type MediaType,
  type NotAcceptable,
  type Offer,
  type Preference,
  builtinEncodings,
  negotiate,
  negotiateError,
  renderingMismatch,
} from '../../lib/codec/negotiate/negotiate.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import {
  invalidIncludeObject,
  joined,
  objectBody,
  statusBody,
} from '../../lib/codec/output/object-body.ts'
import type { OutputKind } from '../../lib/codec/output-kind.ts'
import { customKindOf } from '../../lib/codec/served/custom/custom-definition.ts'
import { parseTarget } from '../../lib/kube/request/request.ts'
import type { Resource } from '../../lib/kube/resources/resource.ts'
import { type Status, statusJson } from '../../lib/kube/status.ts'
import { type PureAnswer, answerRecorded } from '../support/kube/kube-golden.ts'
import { type Recorded, entriesAt } from './load.ts'

/** A recorded answer, made again. */
export interface Made {
  readonly body: Uint8Array | NotExact
  readonly kind: string
  /** `json object`, `yaml Table`, ... */
  readonly form: string
}

/** Replacements that a test may make for parts that timing decided. */
export interface Replacements {
  readonly meta?: Partial<ListMeta> | undefined
  /** Added to the recorded time. */
  readonly laterMs?: number | undefined
}

/** The body of the answer; undefined for what others make. */
export function makeBody(recorded: Recorded, replacements: Replacements = {}): Made | undefined {
  const answer = answerRecorded(recorded)
  if (answer.type === 'other' || answer.type === 'watch') return undefined
  const resource = answer.type === 'failure' ? undefined : resourceOf(answer)
  const isList = answer.type === 'list' || answer.type === 'failure'
  const offer = offerOf(recorded, resource?.custom !== undefined, isList)
  const preference = preferenceOf(recorded)
  const decided = negotiate(preference, offer)
  const error = (status: Status, form = 'Status'): Made =>
    statusMade(statusJson(status), { preference, offer, form })
  if ('refusal' in decided) return error(notAcceptable(decided))
  if (answer.type === 'failure') {
    return statusMade(answer.body, { preference, offer, form: 'Status' })
  }
  const kind = servedKind(resourceOf(answer))
  const mismatch = renderingMismatch(kind, decided, isList)
  if (mismatch !== undefined) return error(notAcceptable({ refusal: mismatch, hasDetails: false }))
  const asked = parseTarget(recorded.request.path)?.query.text('includeObject') ?? ''
  const includeObject = includedObject(asked)
  if (includeObject === undefined && decided.rendering === 'Table') {
    return error({ code: 400, message: invalidIncludeObject(asked), reason: 'BadRequest' })
  }
  const now = Date.parse(recorded.recorded_at) + (replacements.laterMs ?? 0)
  const output: OutputForm = { ...decided, includeObject: includeObject ?? 'Metadata', now }
  const { isPretty } = decided
  const encoder = encoderOf(resourceOf(answer), recorded.at_revision)
  const form = `${decided.encoding}${isPretty ? ' pretty' : ''} ${decided.rendering}`
  if (answer.type === 'object') {
    return {
      body: objectBody(encoder, answer.entry, { form: output, isPretty }),
      kind: kind.kind,
      form,
    }
  }
  const { entries } = answer
  const meta = { ...answer.meta, ...replacements.meta }
  const runs = [{ entries, from: 0, to: entries.length, leaf: undefined }]
  return {
    body: joined(listBody(encoder, { form: output, isPretty, meta, runs })),
    kind: kind.kind,
    form,
  }
}

/** A Status in the form in which the client gets errors. */
export function remakeStatus(recorded: Recorded, json: string): Made {
  const preference = preferenceOf(recorded)
  return statusMade(json, { preference, offer: offerOf(recorded, false, true), form: 'Status' })
}

/** The media type that a watch would be sent in; undefined when it is refused. */
export function watchMediaType(recorded: Recorded, resource: Resource): MediaType | undefined {
  const offer = offerOf(recorded, resource.custom !== undefined, true)
  const decided = negotiateWatch(preferenceOf(recorded), offer)
  return 'refusal' in decided ? undefined : decided
}

/** The encoder of a resource as its definition was at a revision. */
export function encoderOf(resource: Resource, at: number): ObjectEncoder {
  const kind = servedKind(resource)
  if (resource.custom === undefined) return new ObjectEncoder(kind, undefined)
  const key = `/registry/apiextensions.k8s.io/customresourcedefinitions/${resource.custom.definition}`
  const definition = entriesAt(at).get(keyFromText(key))
  const custom = definition === undefined ? undefined : customKindOf(definition)
  if (custom === undefined || custom instanceof NotExact) throw new Error('no definition')
  return new ObjectEncoder(kind, custom)
}

export function servedKind(resource: Resource): OutputKind {
  const { storage } = resource
  if (storage === undefined) throw new Error(`${resource.resource} is not stored`)
  return { ...resource, storage, schema: schemaOf() }
}

function resourceOf(
  answer: Exclude<PureAnswer, { type: 'failure' | 'other' | 'watch' }>,
): Resource {
  return answer.plan.resource
}

function statusMade(
  json: string,
  { preference, offer, form }: { preference: Preference; offer: Offer; form: string },
): Made {
  const mediaType = negotiateError(preference, offer)
  const name = mediaType === undefined ? 'json fallback' : mediaType.encoding
  return { body: statusBody(json, mediaType), kind: form, form: `${name} Status` }
}

function notAcceptable({ refusal, hasDetails }: NotAcceptable): Status {
  return {
    code: 406,
    message: refusal,
    reason: 'NotAcceptable',
    details: hasDetails ? {} : undefined,
  }
}

function preferenceOf({ request }: Recorded): Preference {
  const first = (value: string | readonly string[] | undefined): string | undefined =>
    typeof value === 'object' ? value[0] : value
  return {
    accept: first(request.headers['Accept']),
    userAgent: first(request.headers['User-Agent']),
    pretty: parseTarget(request.path)?.query.first('pretty'),
  }
}

function offerOf({ request }: Recorded, isCustom: boolean, isList: boolean): Offer {
  const isCustomPath = isCustom || /^\/apis\/[a-z.]*example\.com\//.test(request.path)
  const path = request.path.replace(/[?].*/, '').replace(/\/$/, '')
  return {
    encodings: builtinEncodings,
    objectEncodings: isCustomPath ? ['json', 'yaml'] : builtinEncodings,
    hasRouter: !isCustomPath,
    isList: isList && !/\/(missing|none|web-1)$/.test(path),
  }
}
