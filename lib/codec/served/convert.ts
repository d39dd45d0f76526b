/** Stored objects in the version that is served, where that has another shape than the stored one.
 *  The result is always protobuf of the served kind, in its envelope, so that all outputs go on
 *  from there as they do from a stored value. */

import { appendText, ByteWriter, NotExact } from '@watchglass/base'
import { downgradeAutoscaler } from './convert/autoscalers.ts'
import { upgradeDefinition } from './convert/definitions.ts'
import { appendServedEvent } from './convert/events.ts'
import { messageWithStoredMetadata } from './convert/kept-metadata.ts'
import { appendEnvelope, readEnvelope } from '../transcode/envelope.ts'
import { type JsonObject, parseTree, textInOrder } from '@watchglass/go'
import type { Schema } from '../schema/schema.ts'
import { appendProtobuf } from '../transcode/transcode.ts'
import { appendView } from './view.ts'
import { type StoredValue } from '../stored-value.ts'

/** The conversions there are, by served apiVersion and kind. */
type Convert = (out: ByteWriter, value: StoredValue, schema: Schema) => NotExact | undefined

const conversions: Readonly<Record<string, Convert>> = {
  'events.k8s.io/v1 Event': convertEvent,
  'autoscaling/v1 HorizontalPodAutoscaler': convertAutoscaler,
  'apiextensions.k8s.io/v1 CustomResourceDefinition': convertDefinition,
  'apiregistration.k8s.io/v1 APIService': convertJson,
}

/** The served kind, and the schema of its server. */
export interface ConvertedKind {
  readonly schema: Schema
  readonly apiVersion: string
  readonly kind: string
}

/** True if objects of that kind are not served from their stored form. */
export function needsConversion(apiVersion: string, kind: string): boolean {
  return Object.hasOwn(conversions, `${apiVersion} ${kind}`)
}

/** The value as protobuf of the served kind. It is valid until the next call. */
export function convertStored(
  value: StoredValue,
  { schema, apiVersion, kind }: ConvertedKind,
): StoredValue | NotExact {
  const key = `${apiVersion} ${kind}`
  const convert = Object.hasOwn(conversions, key) ? conversions[key] : undefined
  if (convert === undefined) return new NotExact(`no conversion to ${apiVersion} ${kind}`)
  converted.clear()
  const problem = convert(converted, value, schema)
  return problem ?? { bytes: converted.bytes, start: 0, end: converted.length }
}

const converted = new ByteWriter()
const scratch = new ByteWriter()
const made = new ByteWriter()

function convertEvent(out: ByteWriter, { bytes, start, end }: StoredValue): NotExact | undefined {
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return envelope
  if (envelope.apiVersion !== 'v1' || envelope.kind !== 'Event') {
    return new NotExact('stored value is no Event of the core group')
  }
  scratch.clear()
  const problem = appendServedEvent(scratch, bytes, envelope.rawStart, envelope.rawEnd)
  if (problem !== undefined) return problem
  appendEnvelope(out, { apiVersion: 'events.k8s.io/v1', kind: 'Event' }, scratch)
  return undefined
}

/** By way of what v2 serves, which has the defaults of v2 in it. */
function convertAutoscaler(
  out: ByteWriter,
  value: StoredValue,
  schema: Schema,
): NotExact | undefined {
  scratch.clear()
  const problem = appendView(scratch, value, { resourceVersion: '', schema })
  if (problem !== undefined) return problem
  const tree = parseTree(scratch.bytes, 0, scratch.length)
  if (!(tree instanceof Map) || tree.get('apiVersion') !== 'autoscaling/v2') {
    return new NotExact('stored value is no autoscaler of autoscaling/v2')
  }
  const downgraded = downgradeAutoscaler(tree, schema)
  if (downgraded instanceof NotExact) return downgraded
  made.clear()
  const refused = appendTree(made, downgraded, schema)
  if (refused !== undefined) return refused
  const whole = { bytes: made.bytes, start: 0, end: made.length }
  const message = messageWithStoredMetadata(whole, value)
  if (message instanceof NotExact) return message
  appendEnvelope(out, { apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler' }, message)
  return undefined
}

function convertDefinition(
  out: ByteWriter,
  value: StoredValue,
  schema: Schema,
): NotExact | undefined {
  const tree = parseTree(value.bytes, value.start, value.end)
  if (!(tree instanceof Map)) return new NotExact('stored definition is not a JSON object')
  if (tree.get('kind') !== 'CustomResourceDefinition') {
    return new NotExact('stored value is no definition')
  }
  upgradeDefinition(tree)
  return appendTree(out, tree, schema)
}

function convertJson(out: ByteWriter, value: StoredValue, schema: Schema): NotExact | undefined {
  return appendProtobuf(out, value, schema)
}

function appendTree(out: ByteWriter, tree: JsonObject, schema: Schema): NotExact | undefined {
  scratch.clear()
  appendText(scratch, textInOrder(tree))
  return appendProtobuf(out, { bytes: scratch.bytes, start: 0, end: scratch.length }, schema)
}
