/** The bytes of watch events: one line of JSON, or one length-prefixed protobuf message, or one
 *  CBOR item of a sequence. */

import type { KeyValue } from '@watchglass/store'
import { appendVarint, ByteWriter, NotExact } from '@watchglass/base'
import { cborFromJson, cborHead, cborText, selfDescribed } from './cbor.ts'
import { type ObjectEncoder, type OutputForm, openRow } from './object-encoder.ts'
import { type ViewVersion, partialHead } from './metadata.ts'
import { hasZeroTimes, schemaOf } from '../schema/schema.ts'
import { type LearnedOutput, apiVersionOf } from '../output-kind.ts'
import { jsonFromProtobuf, protobufFromJson } from '../transcode/transcode.ts'

/** A change of an object. */
export interface FrameEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly entry: KeyValue
  /** Revision of the change; a DELETED carries the last state with this revision. */
  readonly revision: number
}

/** A point that a watcher has reached. */
export interface Bookmark {
  readonly revision: number
  /** All that was there when the watch began has been sent. */
  readonly endsInitialEvents: boolean
}

/** Watchers of Tables get the columns once, in their first event. */
export interface FrameOptions {
  readonly form: OutputForm
  readonly hasColumns: boolean
}

/** The frame of a change. */
export function eventFrame(
  encoder: ObjectEncoder,
  { type, entry, revision }: FrameEvent,
  options: FrameOptions,
): Uint8Array | NotExact {
  const { form } = options
  const isNoObject = form.rendering === 'PartialObjectMetadataList'
  if (isNoObject) return new NotExact('an event is about one object, and a list was asked for')
  const place = 'alone'
  object.clear()
  if (form.encoding === 'protobuf') {
    const problem =
      encoder.append(object, entry, { form, revision, place }) ?? form.gate?.objection(entry, place)
    return problem ?? wrap(type, object.copy(), form.encoding)
  }
  // JSON is written where it belongs in the frame: a frame is copied once, out of here.
  const isJson = form.encoding === 'json'
  if (isJson) object.append(jsonHeads[type])
  if (form.rendering === 'Table') openTable(encoder, options, String(revision))
  const problem =
    encoder.appendJson(object, entry, { form, revision, place }) ??
    form.gate?.objection(entry, place)
  if (problem !== undefined) return problem
  if (form.rendering === 'Table') object.appendAscii(']}')
  if (!isJson) return wrapJson(encoder, type, form)
  object.append(endOfEvent)
  return object.copy()
}

const jsonHeads = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
}

/** The frame of a bookmark: an object of the kind with nothing in it but its resourceVersion. */
export function bookmarkFrame(
  encoder: ObjectEncoder,
  bookmark: Bookmark,
  options: FrameOptions,
): Uint8Array | NotExact {
  const { form } = options
  object.clear()
  if (form.rendering === 'Table') {
    openTable(encoder, options, String(bookmark.revision))
    openRow(object, encoder.table.emptyRow())
    const problem = appendRowBookmark(encoder, bookmark, form)
    if (problem !== undefined) return problem
    object.appendAscii('}]}')
  } else {
    const problem =
      form.rendering === 'object'
        ? appendEmptyObject(encoder, bookmark)
        : appendPartialBookmark(encoder, bookmark, form.renderingVersion)
    if (problem !== undefined) return problem
  }
  if (form.encoding !== 'protobuf') return wrapJson(encoder, 'BOOKMARK', form)
  const message = protobufFromJson(object.bytes, 0, object.length, encoder.kind.schema)
  return message instanceof NotExact ? message : wrap('BOOKMARK', message, 'protobuf')
}

/** The first frame of a Table watch from one without columns, as all watchers share: the others say
 *  `null`. */
export function frameWithColumns(
  frame: Uint8Array,
  { table }: ObjectEncoder,
  { encoding }: OutputForm,
): Uint8Array {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.length)
  const absent = encoding === 'cbor' ? absentColumnsInCbor : absentColumns
  const at = bytes.indexOf(absent)
  if (at < 0) return frame
  const columns = Buffer.from(table.columnsJson)
  const written = encoding === 'cbor' ? cborFromJson(columns, undefined, 'bare') : columns
  if (written instanceof NotExact) return frame
  // What is absent is written last: one byte of CBOR, four of JSON.
  const before = at + absent.length - (encoding === 'cbor' ? 1 : 4)
  return Buffer.concat([bytes.subarray(0, before), written, bytes.subarray(at + absent.length)])
}

/** The opposite, in JSON; undefined if the frame has other columns. */
export function frameWithoutColumns(
  frame: Uint8Array,
  { table }: ObjectEncoder,
): Uint8Array | undefined {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.length)
  const columns = Buffer.from(`"columnDefinitions":${table.columnsJson}`)
  const at = bytes.indexOf(columns)
  if (at < 0) return undefined
  return Buffer.concat([bytes.subarray(0, at), absentColumns, bytes.subarray(at + columns.length)])
}

const absentColumns = Buffer.from('"columnDefinitions":null')
const absentColumnsInCbor = Buffer.concat([cborText('columnDefinitions'), Buffer.of(0xf6)])

/** The frame that ends a watch with a Status, from its JSON. */
export function errorFrame(
  statusJson: string,
  { encoding }: Pick<OutputForm, 'encoding'>,
): Uint8Array {
  const json = Buffer.from(statusJson.trimEnd())
  if (encoding === 'protobuf') {
    const message = protobufFromJson(json)
    if (!(message instanceof NotExact)) return wrap('ERROR', message, encoding)
  }
  if (encoding === 'cbor') {
    const item = cborFromJson(json, schemaOf().findKind('v1', 'Status')?.type, 'tagged')
    if (!(item instanceof NotExact)) return wrap('ERROR', item, encoding)
  }
  return wrap('ERROR', json, 'json')
}

/** Begins a Table of one row in `object`. */
function openTable(
  encoder: ObjectEncoder,
  { form, hasColumns }: FrameOptions,
  resourceVersion: string,
): void {
  object.appendAscii(
    `{"kind":"Table","apiVersion":"meta.k8s.io/${form.renderingVersion}","metadata":{"resourceVersion":"${resourceVersion}"},"columnDefinitions":`,
  )
  object.append(hasColumns ? Buffer.from(encoder.table.columnsJson) : noColumns)
  object.appendAscii(',"rows":[')
}

const noColumns = Buffer.from('null')

const initialEventsEnd = '"k8s.io/initial-events-end":"true"'

/** The object of a bookmark's row. The end of the initial events is in its metadata, which is
 *  therefore shown to those that want no objects, too. */
function appendRowBookmark(
  encoder: ObjectEncoder,
  bookmark: Bookmark,
  { includeObject, renderingVersion }: OutputForm,
): NotExact | undefined {
  if (includeObject === 'Object') return appendEmptyObject(encoder, bookmark)
  if (includeObject === 'None' && !bookmark.endsInitialEvents) {
    object.appendAscii('null')
    return undefined
  }
  return appendPartialBookmark(encoder, bookmark, renderingVersion)
}

function appendPartialBookmark(
  { kind }: ObjectEncoder,
  bookmark: Bookmark,
  version: ViewVersion,
): NotExact | undefined {
  const { learned } = kind
  if (learned !== undefined && learned.emptyObject === undefined) return unknownBookmark
  object.append(partialHead[version])
  const zeroTime = hasZeroTimes(kind.schema) ? ',"creationTimestamp":null' : ''
  const annotations = bookmark.endsInitialEvents ? `,"annotations":{${initialEventsEnd}}` : ''
  const behindRevision = learned?.emptyObject?.beforeAnnotations ?? `"${zeroTime}`
  object.appendAscii(`{"resourceVersion":"${bookmark.revision}${behindRevision}${annotations}}}`)
  return undefined
}

const unknownBookmark = new NotExact('how the server writes a bookmark is not known')

/** The server's form of an empty object of its own: numbers that are pointers outside, and an
 *  annotation that is a number inside. */
const emptyObjects: Readonly<
  Record<string, { readonly annotations?: readonly string[]; readonly members?: string }>
> = {
  DaemonSet: { annotations: ['"deprecated.daemonset.template.generation":"0"'] },
  Deployment: { members: ',"spec":{"replicas":0}' },
  ReplicaSet: { members: ',"spec":{"replicas":0}' },
  StatefulSet: { members: ',"spec":{"replicas":0}' },
}

function appendEmptyObject(encoder: ObjectEncoder, bookmark: Bookmark): NotExact | undefined {
  const whole = emptyObject(encoder, bookmark)
  if (whole instanceof NotExact) return whole
  object.append(whole)
  return undefined
}

/** JSON of an object with all that Go writes even when there is nothing: by way of an empty
 *  protobuf message. */
function emptyObject({ kind }: ObjectEncoder, bookmark: Bookmark): Uint8Array | NotExact {
  if (kind.learned !== undefined) return emptyLearned(kind.learned, bookmark)
  const apiVersion = apiVersionOf(kind)
  const empty = kind.custom === undefined ? emptyObjects[kind.kind] : undefined
  const entries = [
    ...(empty?.annotations ?? []),
    ...(bookmark.endsInitialEvents ? [initialEventsEnd] : []),
  ]
  const annotations = entries.length === 0 ? '' : `"annotations":{${entries.join(',')}},`
  const metadata = `{${annotations}"resourceVersion":"${bookmark.revision}"}`
  if (kind.custom !== undefined) {
    return Buffer.from(
      `{"apiVersion":"${apiVersion}","kind":"${kind.kind}","metadata":${metadata}}`,
    )
  }
  const names = `"kind":"${kind.kind}","apiVersion":"${apiVersion}"`
  const given = Buffer.from(`{${names},"metadata":${metadata}${empty?.members ?? ''}}`)
  const message = protobufFromJson(given, 0, given.length, kind.schema)
  if (message instanceof NotExact) return message
  const json = jsonFromProtobuf(message, 0, message.length, kind.schema)
  // Without its line feed.
  return json instanceof NotExact ? json : json.subarray(0, -1)
}

/** An object without content, as the server was seen to write it. */
function emptyLearned(
  { emptyObject: empty }: LearnedOutput,
  bookmark: Bookmark,
): Uint8Array | NotExact {
  if (empty === undefined) return unknownBookmark
  const annotations = bookmark.endsInitialEvents ? `,"annotations":{${initialEventsEnd}}` : ''
  const { beforeRevision, beforeAnnotations, behind } = empty
  return Buffer.from(
    `${beforeRevision}${bookmark.revision}${beforeAnnotations}${annotations}${behind}`,
  )
}

/** Wraps the JSON in `object`. */
function wrapJson(encoder: ObjectEncoder, type: string, form: OutputForm): Uint8Array | NotExact {
  if (form.encoding === 'json') return wrap(type, object.bytes.subarray(0, object.length), 'json')
  const json = object.bytes.subarray(0, object.length)
  const item = cborFromJson(json, cborTypeOf(encoder, form), 'tagged')
  return item instanceof NotExact ? item : wrap(type, item, 'cbor')
}

/** Rows lie one level deeper in an event's Table than in a list's. */
function cborTypeOf(
  encoder: ObjectEncoder,
  { rendering }: OutputForm,
): ReturnType<ObjectEncoder['cborType']> {
  const type = encoder.cborType(rendering)
  return rendering === 'Table' ? { everyMember: undefined, members: { rows: type } } : type
}

function wrap(type: string, content: Uint8Array, encoding: OutputForm['encoding']): Uint8Array {
  switch (encoding) {
    case 'protobuf':
      return protobufEvent(type, content)
    case 'cbor':
      return Buffer.concat([
        selfDescribed,
        cborHead('map', 2),
        cborText('type'),
        cborText(type),
        cborText('object'),
        content,
      ])
    case 'json':
    case 'yaml':
      return Buffer.concat([Buffer.from(`{"type":"${type}","object":`), content, endOfEvent])
  }
}

const endOfEvent = Buffer.from('}\n')

/** A length of four bytes, then `{1 type, 2 {1 raw}}`. */
function protobufEvent(type: string, content: Uint8Array): Uint8Array {
  frame.clear()
  frame.appendAscii('\0\0\0\0')
  frame.appendByte(0x0a)
  appendVarint(frame, type.length)
  frame.appendAscii(type)
  inner.clear()
  inner.appendByte(0x0a)
  appendVarint(inner, content.length)
  frame.appendByte(0x12)
  appendVarint(frame, inner.length + content.length)
  frame.append(inner.bytes, 0, inner.length)
  frame.append(content)
  frame.view.setUint32(0, frame.length - 4)
  return frame.copy()
}

const object = new ByteWriter()
const frame = new ByteWriter()
const inner = new ByteWriter(16)
