/** PartialObjectMetadata: an object's metadata alone, without a look at the rest of it.
 *
 *  The metadata is a window of the stored message. A copy of it with the resourceVersion put in,
 *  which the store keeps beside it, is the protobuf form. The server takes metadata from its
 *  internal objects, into which some annotations do not find their way. */

import {
  appendTextField,
  appendVarint,
  ByteWriter,
  isAsciiText,
  NotExact,
  WireReader,
} from '@watchglass/base'
import { type Schema, perSchema } from '../schema/schema.ts'
import { Decoders } from '../transcode/decode/decoders.ts'
import { appendObject } from '../transcode/decode/objects.ts'
import { metadataScope, viewAdditions } from '../served/view/additions.ts'
import type { StoredValue } from '../stored-value.ts'

/** Options of a view of metadata: the parts to leave out. */
export interface MetadataOptions {
  /** Schema of the server that is answered for. */
  readonly schema: Schema
  readonly resourceVersion: string
  /** Names of annotations that the server's internal form of this kind has none of. */
  readonly lostAnnotations: readonly string[]
}

/** Appends an ObjectMeta in protobuf with the resourceVersion in it; without a tag and a length. */
export function appendMetadataProtobuf(
  out: ByteWriter,
  { bytes, start, end }: StoredValue,
  { resourceVersion, lostAnnotations }: MetadataOptions,
): NotExact | undefined {
  outer.reset(bytes, start, end)
  const from = out.length
  // Fields that follow each other without a change are copied in one piece.
  let copied = start
  let isWritten = false
  let fieldStart = start
  for (; outer.nextField(); fieldStart = outer.at) {
    const { field } = outer
    if (field >= resourceVersionField && !isWritten) {
      out.append(bytes, copied, fieldStart)
      copied = fieldStart
      appendTextField(out, resourceVersionField, resourceVersion)
      isWritten = true
    }
    if (!outer.skip()) break
    const isLost =
      field === resourceVersionField ||
      (field === annotationsField && isLostAnnotation(bytes, lostAnnotations))
    if (isLost) {
      out.append(bytes, copied, fieldStart)
      copied = outer.at
    }
  }
  if (outer.isMalformed) {
    out.length = from
    return new NotExact('metadata is malformed')
  }
  out.append(bytes, copied, end)
  if (!isWritten) appendTextField(out, resourceVersionField, resourceVersion)
  return undefined
}

const resourceVersionField = 6
const annotationsField = 12

/** Whether the map entry that `outer` has just read is one of the names. */
function isLostAnnotation(bytes: Uint8Array, names: readonly string[]): boolean {
  if (names.length === 0) return false
  inner.reset(bytes, outer.start, outer.at)
  if (!inner.nextField() || inner.field !== 1 || !inner.readWindow()) return false
  const { start, at } = inner
  return names.some(name => name.length === at - start && isAsciiText(bytes, start, name))
}

/** Appends the JSON of an ObjectMeta in protobuf with the resourceVersion in it. */
function appendMetadataJson(
  out: ByteWriter,
  { bytes, start, end }: StoredValue,
  { schema, resourceVersion }: MetadataOptions,
): NotExact | undefined {
  const { type, write } = writerOf(schema)
  const text = { write, header: '', trailer: '}', resourceVersion }
  return appendObject(out, { bytes, start, end, type }, text)
}

const writerOf = perSchema(schema => {
  const type = schema.messageType('meta/v1.ObjectMeta')
  const decoders = new Decoders(viewAdditions(schema))
  return { type, write: decoders.writerOf(type, { output: 'members', scope: metadataScope }) }
})

/** A view's own version of meta.k8s.io. */
export type ViewVersion = 'v1' | 'v1beta1'

/** Appends the JSON of a PartialObjectMetadata. */
export function appendPartialJson(
  out: ByteWriter,
  window: StoredValue,
  options: MetadataOptions & { readonly version: ViewVersion },
): NotExact | undefined {
  const from = out.length
  let source = window
  if (options.lostAnnotations.length > 0) {
    scratch.clear()
    const problem = appendMetadataProtobuf(scratch, window, options)
    if (problem !== undefined) return problem
    source = { bytes: scratch.bytes, start: 0, end: scratch.length }
  }
  out.append(partialHead[options.version])
  const failure = appendMetadataJson(out, source, options)
  if (failure === undefined) out.appendByte(0x7d)
  else out.length = from
  return failure
}

/** The text before the metadata; `}` stands behind it. */
export const partialHead: Readonly<Record<ViewVersion, Uint8Array>> = {
  v1: Buffer.from('{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'),
  v1beta1: Buffer.from(
    '{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":',
  ),
}

/** Appends the message PartialObjectMetadata, `{1 metadata}`, without an envelope. */
export function appendPartialProtobuf(
  out: ByteWriter,
  window: StoredValue,
  options: MetadataOptions,
): NotExact | undefined {
  scratch.clear()
  const problem = appendMetadataProtobuf(scratch, window, options)
  if (problem !== undefined) return problem
  out.appendByte(0x0a)
  appendVarint(out, scratch.length)
  out.append(scratch.bytes, 0, scratch.length)
  return undefined
}

const outer = new WireReader()
const inner = new WireReader()
const scratch = new ByteWriter()
