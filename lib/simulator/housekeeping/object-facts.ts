/** The facts about an object that controllers need: who it is, who owns it, and whether it is being
 *  deleted. Read from stored values without decoding the rest, as every change of every object
 *  passes here. */

import { hasEnvelope, readEnvelope } from '@watchglass/codec'
import { NotExact, wireBytes, WireReader, wireVarint } from '@watchglass/base'
import {
  itemsOf,
  JsonNumber,
  type JsonValue,
  memberOf,
  millisecondsFromText,
  parseTree,
} from '@watchglass/go'
import type { KeyValue } from '@watchglass/store'

/** As in metadata.ownerReferences, so that it can be written again. */
export interface StoredOwner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectFacts {
  readonly uid: string
  readonly resourceVersion: string
  readonly owners: readonly StoredOwner[]
  readonly finalizers: readonly string[]
  /** When it is to be gone; undefined if it is not being deleted. */
  readonly deletedAtMs: number | undefined
  readonly graceSeconds: number
}

/** Undefined if the value is no object that can be read. */
export function factsOf(entry: KeyValue): ObjectFacts | undefined {
  const { bytes, start, end } = entry
  const resourceVersion = String(entry.modRevision)
  if (!hasEnvelope(bytes, start, end)) {
    return factsOfJson(parseTree(bytes, start, end), resourceVersion)
  }
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return undefined
  const meta = metaOf(bytes, envelope.rawStart, envelope.rawEnd)
  return meta && { ...meta, resourceVersion }
}

function factsOfJson(
  object: JsonValue | undefined,
  resourceVersion: string,
): ObjectFacts | undefined {
  const metadata = memberOf(object, 'metadata')
  if (metadata === undefined) return undefined
  const deletedAt = textOf(memberOf(metadata, 'deletionTimestamp'))
  const grace = memberOf(metadata, 'deletionGracePeriodSeconds')
  return {
    uid: textOf(memberOf(metadata, 'uid')),
    resourceVersion,
    owners: itemsOf(memberOf(metadata, 'ownerReferences')).map(ownerOfJson),
    finalizers: itemsOf(memberOf(metadata, 'finalizers')).map(textOf),
    deletedAtMs: millisecondsFromText(deletedAt) ?? undefined,
    graceSeconds: grace instanceof JsonNumber ? Number(grace.text) : 0,
  }
}

function ownerOfJson(reference: JsonValue): StoredOwner {
  const controller = memberOf(reference, 'controller')
  const blockOwnerDeletion = memberOf(reference, 'blockOwnerDeletion')
  return {
    apiVersion: textOf(memberOf(reference, 'apiVersion')),
    kind: textOf(memberOf(reference, 'kind')),
    name: textOf(memberOf(reference, 'name')),
    uid: textOf(memberOf(reference, 'uid')),
    ...(typeof controller === 'boolean' ? { controller } : {}),
    ...(typeof blockOwnerDeletion === 'boolean' ? { blockOwnerDeletion } : {}),
  }
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** Numbers of fields: of the object, of ObjectMeta and of OwnerReference. */
const metadataField = 1
const metaFields = { uid: 5, deletionTimestamp: 9, grace: 10, owners: 13, finalizers: 14 }
const ownerFields = {
  kind: 1,
  name: 3,
  uid: 4,
  apiVersion: 5,
  controller: 6,
  blockOwnerDeletion: 7,
}

type MetaFacts = Omit<ObjectFacts, 'resourceVersion'>

function metaOf(bytes: Uint8Array, start: number, end: number): MetaFacts | undefined {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  while (reader.nextField()) {
    if (reader.field !== metadataField || reader.wire !== wireBytes) {
      reader.skip()
      continue
    }
    return reader.readWindow() ? factsOfMeta(bytes, reader.start, reader.at) : undefined
  }
  return undefined
}

function factsOfMeta(bytes: Uint8Array, start: number, end: number): MetaFacts | undefined {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  const owners: StoredOwner[] = []
  const finalizers: string[] = []
  let [uid, graceSeconds] = ['', 0]
  let deletedAtMs: number | undefined
  while (reader.nextField()) {
    const { field, wire } = reader
    if (field === metaFields.grace && wire === wireVarint) graceSeconds = reader.readVarint()
    else if (wire !== wireBytes) reader.skip()
    else if (!reader.readWindow()) return undefined
    else if (field === metaFields.uid) uid = windowText(reader)
    else if (field === metaFields.finalizers) finalizers.push(windowText(reader))
    else if (field === metaFields.owners) owners.push(ownerOf(bytes, reader.start, reader.at))
    else if (field === metaFields.deletionTimestamp) {
      deletedAtMs = timeOf(bytes, reader.start, reader.at)
    }
  }
  return reader.isMalformed ? undefined : { uid, owners, finalizers, deletedAtMs, graceSeconds }
}

function ownerOf(bytes: Uint8Array, start: number, end: number): StoredOwner {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  const owner: { -readonly [P in keyof StoredOwner]: StoredOwner[P] } = {
    apiVersion: '',
    kind: '',
    name: '',
    uid: '',
  }
  while (reader.nextField()) {
    const { field, wire } = reader
    if (field === ownerFields.controller && wire === wireVarint) {
      owner.controller = reader.readVarint() !== 0
    } else if (field === ownerFields.blockOwnerDeletion && wire === wireVarint) {
      owner.blockOwnerDeletion = reader.readVarint() !== 0
    } else if (wire !== wireBytes || !reader.readWindow()) reader.skip()
    else if (field === ownerFields.kind) owner.kind = windowText(reader)
    else if (field === ownerFields.name) owner.name = windowText(reader)
    else if (field === ownerFields.uid) owner.uid = windowText(reader)
    else if (field === ownerFields.apiVersion) owner.apiVersion = windowText(reader)
  }
  return owner
}

function timeOf(bytes: Uint8Array, start: number, end: number): number {
  const reader = new WireReader()
  reader.reset(bytes, start, end)
  let seconds = 0
  while (reader.nextField()) {
    if (reader.field === 1 && reader.wire === wireVarint) seconds = reader.readVarint()
    else reader.skip()
  }
  return seconds * 1000
}

function windowText({ bytes, start, at }: WireReader): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, at - start).toString()
}
