/** The body of an answer that is one object: what was asked for, a row about it, or a Status that
 *  says why not. */

import { atOnce, ByteWriter, NotExact, type Steps } from '@watchglass/base'
import { cborFromJson, selfDescribed } from './cbor.ts'
import type { ObjectEncoder, OutputForm } from './object-encoder.ts'
import { listBody } from './list-body.ts'
import type { MediaType } from '../negotiate/negotiate.ts'
import { indentJson } from './pretty.ts'
import { schemaOf } from '../schema/schema.ts'
import { holderOf, keptOfEntry, type Segment } from './segments.ts'
import { protobufFromJson } from '../transcode/transcode.ts'
import { yamlFromJson, yamlInSteps } from './yaml.ts'
import type { KeyValue, SegmentCache } from '@watchglass/store'

/** The body of a get. */
export function objectBody(
  encoder: ObjectEncoder,
  entry: KeyValue,
  { form, isPretty }: { readonly form: OutputForm; readonly isPretty: boolean },
): Uint8Array | NotExact {
  const resourceVersion = entry.modRevision === 0 ? '' : String(entry.modRevision)
  if (form.rendering === 'Table') {
    const runs = [{ entries: [entry], from: 0, to: 1, leaf: undefined }]
    return joined(listBody(encoder, { form, isPretty, meta: { resourceVersion }, runs }))
  }
  scratch.clear()
  const options = { form, revision: entry.modRevision, place: 'alone' } as const
  if (form.encoding === 'cbor') scratch.append(selfDescribed)
  const problem = encoder.append(scratch, entry, options) ?? form.gate?.objection(entry, 'alone')
  if (problem !== undefined) return problem
  if (form.encoding !== 'json') return scratch.copy()
  if (isPretty) return indentJson(scratch.bytes.subarray(0, scratch.length))
  scratch.appendByte(0x0a)
  return scratch.copy()
}

/** Stored bytes from which on a body is made in steps. */
const longBytes = 64 * 1024

/** The body of a get in steps: YAML of a megabyte takes a tenth of a second. That of a small object
 *  takes one. */
export function* objectBodyInSteps(
  encoder: ObjectEncoder,
  entry: KeyValue,
  { form, isPretty }: { readonly form: OutputForm; readonly isPretty: boolean },
): Steps<Uint8Array | NotExact> {
  if (form.rendering !== 'object' || !isLongBody(entry, form)) {
    return objectBody(encoder, entry, { form, isPretty })
  }
  const json = objectBody(encoder, entry, { form: { ...form, encoding: 'json' }, isPretty: false })
  if (json instanceof NotExact) return json
  yield
  return yield* yamlInSteps(json)
}

/** `keptObjectBody` in steps. */
export function* keptBodyInSteps(
  encoder: ObjectEncoder,
  entry: KeyValue,
  how: { readonly form: OutputForm; readonly isPretty: boolean },
  segments: SegmentCache<Segment>,
): Steps<Uint8Array | NotExact> {
  const { form, isPretty } = how
  if (form.rendering === 'Table' || isPretty) return yield* objectBodyInSteps(encoder, entry, how)
  const name = keptName(encoder, form)
  const kept = segments.get(holderOf(entry), name)?.bytes
  const made = kept ?? (yield* objectBodyInSteps(encoder, entry, how))
  return keptOfEntry(entry, name, segments, () => made)
}

function keptName(encoder: ObjectEncoder, form: OutputForm): string {
  return `alone ${encoder.segmentName(form)}`
}

/** True for an object whose body may take long to make. */
export function isLongBody(entry: KeyValue, { encoding }: OutputForm): boolean {
  return encoding === 'yaml' && entry.valueLength >= longBytes
}

/** The body of an object, kept for the next request. Not for rows, which show ages, nor for
 *  indented JSON, which people ask for, and rarely. */
export function keptObjectBody(
  encoder: ObjectEncoder,
  entry: KeyValue,
  { form, isPretty }: { readonly form: OutputForm; readonly isPretty: boolean },
  segments: SegmentCache<Segment>,
): Uint8Array | NotExact {
  const make = (): Uint8Array | NotExact => objectBody(encoder, entry, { form, isPretty })
  if (form.rendering === 'Table' || isPretty) return make()
  return keptOfEntry(entry, keptName(encoder, form), segments, make)
}

/** A body in one piece, or what in it is not exact. */
export function joined(pieces: ReturnType<typeof listBody>): Uint8Array | NotExact {
  return atOnce(joinedInSteps(pieces, Infinity))
}

/** Joins the pieces of a body in steps. A body of more than `maxBytes` is not made to its end: then
 *  it is not exact. */
export function* joinedInSteps(
  pieces: ReturnType<typeof listBody>,
  maxBytes: number,
): Steps<Uint8Array | NotExact> {
  const all: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const next = pieces.next()
    if (next.done === true) return next.value ?? Buffer.concat(all)
    all.push(next.value)
    bytes += next.value.length
    if (bytes > maxBytes) return new NotExact(`the body is larger than ${maxBytes} bytes`)
    yield
  }
}

/** The body of a Status, from its compact JSON. `mediaType` is undefined where the client accepts
 *  none. */
export function statusBody(
  json: string | Uint8Array,
  mediaType: MediaType | undefined,
): Uint8Array {
  const bytes = typeof json === 'string' ? Buffer.from(json) : json
  const written = mediaType === undefined ? indentJson(bytes) : encodedJson(bytes, mediaType)
  // A Status is ours: texts in it that have no other form than JSON are answered in JSON.
  return written instanceof NotExact ? bytes : written
}

/** A Status or a Scale in the encoding that was negotiated, from its compact JSON. */
export function encodedJson(
  json: Uint8Array,
  { encoding, isPretty }: Pick<MediaType, 'encoding' | 'isPretty'>,
): Uint8Array | NotExact {
  switch (encoding) {
    case 'json':
      return isPretty ? indentJson(json) : json
    case 'yaml':
      return yamlFromJson(json)
    case 'protobuf':
      return protobufFromJson(json)
    case 'cbor':
      return cborFromJson(json, schemaOf().findKind('v1', 'Status')?.type, 'tagged')
  }
}

/** The message of the 400 that an unknown value of `includeObject` is answered with. */
export function invalidIncludeObject(value: string): string {
  return `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`
}

const scratch = new ByteWriter()
