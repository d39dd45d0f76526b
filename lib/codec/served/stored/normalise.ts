/** Stored values in a form that a server of the minor that is answered for would not write: JSON of
 *  a built-in kind, an older storage version, bytes of an older or a newer server. It becomes
 *  protobuf of the storage version as that server would write it, so that every output goes on from
 *  there as from any other value. This is slow, and never needed for what the server itself
 *  wrote. */

import { appendEnvelope, readEnvelope } from '../../transcode/envelope.ts'
import { ByteWriter, giveUp, GiveUp, NotExact } from '@watchglass/base'
import { type JsonObject, parseDocument } from '@watchglass/go'
import { type Schema, perSchema } from '../../schema/schema.ts'
import type { StoredValue } from '../../stored-value.ts'
import { appendProtobuf, jsonFromProtobuf } from '../../transcode/transcode.ts'
import { upgradeAutoscaler } from '../convert/upgrade-autoscaler.ts'
import { appendCoreEvent } from '../convert/events.ts'
import { messageWithStoredMetadata } from '../convert/kept-metadata.ts'
import { isVersionDescribed } from '../default-rules.ts'
import { appendCanonical } from './canonical.ts'
import { applyReadDefaults } from './defaults.ts'
import { isSameUnderOtherName } from './older-versions.ts'
import { RawTexts, pruneToType } from './typed-json.ts'

/** The kind that an object is served as. */
export interface ServedKind {
  readonly schema: Schema
  readonly apiVersion: string
  readonly kind: string
}

/** True if JSON of the kind is unusual: a built-in one, but for the two that servers store so,
 *  whose converters begin with it. */
export function isNormalised({ schema, apiVersion, kind }: ServedKind): boolean {
  return (
    schema.findKind(apiVersion, kind) !== undefined &&
    kind !== 'CustomResourceDefinition' &&
    kind !== 'APIService'
  )
}

/** The value as protobuf of the storage version of its resource. It is valid until the next call.
 *  Bytes get the fields that the server always writes; with `withDefaults` also the defaults that
 *  it fills in on read, which takes longer and is rarely needed. */
export function normaliseStored(
  value: StoredValue,
  served: ServedKind,
  withDefaults = false,
): StoredValue | NotExact {
  try {
    const isJson = value.bytes[value.start] === 0x7b
    const read = isJson ? fromJson : withDefaults ? fromBytesWithDefaults : fromBytes
    const stored = read(value, served)
    const kept = stored.stored
    const problem = appendStorageVersion(stored, served)
    if (problem !== undefined) return problem
    if (kept !== undefined) keepMetadata(kept)
    return { bytes: normal.bytes, start: 0, end: normal.length }
  } catch (error) {
    if (!(error instanceof GiveUp)) throw error
    return new NotExact(error.reason)
  }
}

/** An object of its own stored version: as a tree where it is changed as one, and as bytes without
 *  an envelope otherwise. */
interface OfStoredVersion {
  readonly apiVersion: string
  readonly tree?: { readonly object: JsonObject; readonly raw: RawTexts }
  readonly message?: ByteWriter
  /** Value that the tree was made of, in its envelope, where that was protobuf. */
  readonly stored?: StoredValue
}

const normal = new ByteWriter()
const scratch = new ByteWriter()
const message = new ByteWriter()

function fromJson(value: StoredValue, served: ServedKind): OfStoredVersion {
  const { schema, kind: wanted } = served
  const document = parseDocument(value.bytes, value.start, value.end)
  const object = document?.value
  if (document === undefined || !(object instanceof Map)) return giveUp('object is malformed')
  if (document.hasRepeatedMembers) giveUp('a member of the stored JSON is repeated')
  // The server finds out what an object is with a reader to which `Kind` and `kind` are the same.
  const names = [...object.keys()].filter(name => /^(?:kind|apiversion)$/i.test(name))
  const [apiVersion, kind] = [object.get('apiVersion'), object.get('kind')]
  if (names.length !== 2 || typeof apiVersion !== 'string' || kind !== wanted) {
    return giveUp('stored value is of another kind')
  }
  const found = schema.findKind(apiVersion, kind)
  if (found === undefined) return giveUp('no schema of the stored version')
  const raw = new RawTexts(document)
  pruneToType(object, found.type, raw)
  fillIn(object, apiVersion, served)
  return { apiVersion, tree: { object, raw } }
}

/** Applies the defaults of the stored version; of the storage version, where both are the same and
 *  only that one is described. */
function fillIn(object: JsonObject, apiVersion: string, served: ServedKind): void {
  const { schema, kind } = served
  const storage = storageVersionOf(served) ?? apiVersion
  const isSame = isSameUnderOtherName(schema, kind, { from: apiVersion, to: storage })
  const own = schema.findKind(apiVersion, kind)
  const isDescribed = own !== undefined && isVersionDescribed(own.type)
  const read = schema.findKind(isSame && !isDescribed ? storage : apiVersion, kind)
  if (read === undefined) giveUp('no schema of the storage version')
  applyReadDefaults(object, read.type, `${read.apiVersion} ${kind}`)
}

function fromBytesWithDefaults(value: StoredValue, served: ServedKind): OfStoredVersion {
  const stored = fromBytes(value, served)
  const { apiVersion } = stored
  const read = treeOf(stored, { ...served, apiVersion })
  if (read.tree !== undefined) fillIn(read.tree.object, apiVersion, served)
  return read
}

/** Gives what is in `normal` the metadata that is stored. */
function keepMetadata(stored: StoredValue): void {
  const made = { bytes: normal.copy(), start: 0, end: normal.length }
  const envelope = readEnvelope(made.bytes, made.start, made.end)
  const whole = messageWithStoredMetadata(made, stored)
  if (envelope instanceof NotExact) return giveUp(envelope.reason)
  if (whole instanceof NotExact) return giveUp(whole.reason)
  const { apiVersion, kind } = envelope
  normal.clear()
  appendEnvelope(normal, { apiVersion, kind }, whole)
}

function fromBytes(value: StoredValue, { schema, kind: wanted }: ServedKind): OfStoredVersion {
  const envelope = readEnvelope(value.bytes, value.start, value.end)
  if (envelope instanceof NotExact) return giveUp(envelope.reason)
  const { apiVersion, kind, rawStart, rawEnd } = envelope
  const found = schema.findKind(apiVersion, kind)
  if (found === undefined || kind !== wanted) return giveUp('stored value is of another kind')
  message.clear()
  appendCanonical(message, found.type, { bytes: value.bytes, start: rawStart, end: rawEnd })
  return { apiVersion, message }
}

/** Writes the object into `normal`, as protobuf of the version in which the server stores it. */
function appendStorageVersion(stored: OfStoredVersion, served: ServedKind): NotExact | undefined {
  const { schema, kind } = served
  const { apiVersion: from } = stored
  const to = storageVersionOf(served)
  normal.clear()
  if (to === undefined) return new NotExact('the kind is not stored')
  if (from === to || isSameUnderOtherName(schema, kind, { from, to })) {
    return appendRelabelled(stored, { schema, apiVersion: to, kind })
  }
  if (kind === 'Event' && from.startsWith('events.k8s.io/') && to === 'v1') {
    const problem = appendRelabelled(stored, { schema, apiVersion: from, kind })
    return problem ?? upgradeEvent()
  }
  if (kind === 'HorizontalPodAutoscaler' && from === 'autoscaling/v1' && to === 'autoscaling/v2') {
    const read =
      stored.tree === undefined ? treeOf(stored, { ...served, apiVersion: from }) : stored
    const { object, raw } = read.tree ?? giveUp('stored value is no object')
    const upgraded = upgradeAutoscaler(object, schema)
    if (upgraded instanceof NotExact) return upgraded
    const problem = appendJson({ object: upgraded, raw }, schema)
    if (problem === undefined && read.stored !== undefined) keepMetadata(read.stored)
    return problem
  }
  return new NotExact(`${kind} is stored as ${from}`)
}

/** The tree of a value that was stored as protobuf. Gives up where JSON does not hold all of it but
 *  the metadata: raw JSON that is written in another way, a pointer to a zero time, an empty list
 *  that is always written. */
function treeOf(stored: OfStoredVersion, kind: ServedKind): OfStoredVersion {
  normal.clear()
  const problem = appendRelabelled(stored, kind)
  if (problem !== undefined) return giveUp(problem.reason)
  const bytes = normal.copy()
  normal.clear()
  const json = jsonFromProtobuf(bytes, 0, bytes.length, kind.schema)
  if (json instanceof NotExact) return giveUp(json.reason)
  const document = parseDocument(json, 0, json.length)
  const type = kind.schema.findKind(kind.apiVersion, kind.kind)?.type
  const object = document?.value
  if (document === undefined || !(object instanceof Map) || type === undefined) {
    return giveUp('stored value is no object')
  }
  const raw = new RawTexts(document)
  pruneToType(object, type, raw)
  const lost = appendJson({ object, raw }, kind.schema)
  if (lost !== undefined) return giveUp(lost.reason)
  keepMetadata({ bytes, start: 0, end: bytes.length })
  const isWhole = Buffer.compare(normal.bytes.subarray(0, normal.length), bytes) === 0
  normal.clear()
  if (!isWhole) giveUp('JSON does not hold all of what is stored')
  const { apiVersion } = kind
  return { apiVersion, tree: { object, raw }, stored: { bytes, start: 0, end: bytes.length } }
}

function appendRelabelled(
  { tree, message: bytes }: OfStoredVersion,
  { schema, apiVersion, kind }: ServedKind,
): NotExact | undefined {
  if (tree !== undefined) {
    tree.object.set('apiVersion', apiVersion)
    return appendJson(tree, schema)
  }
  if (bytes !== undefined) appendEnvelope(normal, { apiVersion, kind }, bytes)
  return undefined
}

function appendJson(
  { object, raw }: { readonly object: JsonObject; readonly raw: RawTexts },
  schema: Schema,
): NotExact | undefined {
  const text = Buffer.from(raw.textOf(object))
  return appendProtobuf(normal, { bytes: text, start: 0, end: text.length }, schema)
}

/** An event of events.k8s.io in `normal` becomes one of the core group. */
function upgradeEvent(): NotExact | undefined {
  const envelope = readEnvelope(normal.bytes, 0, normal.length)
  if (envelope instanceof NotExact) return envelope
  scratch.clear()
  const problem = appendCoreEvent(scratch, normal.bytes, envelope.rawStart, envelope.rawEnd)
  if (problem !== undefined) return problem
  normal.clear()
  appendEnvelope(normal, { apiVersion: 'v1', kind: 'Event' }, scratch)
  return undefined
}

const storageVersions = perSchema(schema => {
  const versions = new Map<string, string>()
  for (const { group, version, kind, storage } of schema.resources) {
    if (storage === null) continue
    const served = group === '' ? version : `${group}/${version}`
    const stored = storage.group === '' ? storage.version : `${storage.group}/${storage.version}`
    versions.set(`${served} ${kind}`, stored)
    versions.set(`${stored} ${kind}`, stored)
  }
  return versions
})

/** The version in which servers of the minor store the objects of a served kind. */
export function storageVersionOf({ schema, apiVersion, kind }: ServedKind): string | undefined {
  return storageVersions(schema).get(`${apiVersion} ${kind}`)
}
