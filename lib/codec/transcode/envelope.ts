/** The envelope that Kubernetes puts around protobuf objects in etcd and on the wire: `k8s\0`, then
 *  a message Unknown {1 typeMeta {1 apiVersion, 2 kind}, 2 raw, 3 contentEncoding, 4 contentType}.
 *  Reads it without copying the object. */

import {
  assert,
  type ByteWriter,
  NotExact,
  textFromBytes,
  wireBytes,
  WireReader,
  writeVarint,
} from '@watchglass/base'
import type { StoredValue } from '../stored-value.ts'

/** The name of an object's type. */
export interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

/** An envelope: its type, and the window of the object's own bytes. */
export interface Envelope extends KindName {
  /** The window of the object's message, in the array that was read. */
  readonly rawStart: number
  readonly rawEnd: number
}

/** `k8s\0` */
const envelopeMagic: readonly number[] = [0x6b, 0x38, 0x73, 0x00]

/** True if the value begins as Kubernetes protobuf does. */
export function hasEnvelope(bytes: Uint8Array, start: number, end: number): boolean {
  return (
    end - start >= 4 &&
    bytes[start] === 0x6b &&
    bytes[start + 1] === 0x38 &&
    bytes[start + 2] === 0x73 &&
    bytes[start + 3] === 0x00
  )
}

/** Reads the envelope of `bytes[start..end)`. What no kube-apiserver writes (an unknown field, a
 *  repeated one, a content encoding) is not exact: its meaning is unknown. */
export function readEnvelope(bytes: Uint8Array, start: number, end: number): Envelope | NotExact {
  if (!hasEnvelope(bytes, start, end)) return new NotExact('value has no protobuf envelope')
  const known = readKnown(bytes, start, end)
  if (known !== undefined) return known
  outer.reset(bytes, start + 4, end)
  let apiVersion = ''
  let kind = ''
  let rawStart = 0
  let rawEnd = 0
  let seen = 0
  while (outer.nextField()) {
    const bit = 1 << outer.field
    if (outer.field > 4 || outer.wire !== wireBytes) return unexpected(outer.field)
    if ((seen & bit) !== 0) return new NotExact(`envelope repeats field ${outer.field}`)
    seen |= bit
    if (!outer.readWindow()) break
    if (outer.field === 1) {
      inner.reset(bytes, outer.start, outer.at)
      while (inner.nextField()) {
        if (inner.field > 2 || inner.wire !== wireBytes) return unexpected(inner.field)
        if (!inner.readWindow()) break
        const text = nameFromBytes(bytes, inner.start, inner.at)
        if (inner.field === 1) apiVersion = text
        else kind = text
      }
      if (inner.isMalformed) return malformed
    } else if (outer.field === 2) {
      rawStart = outer.start
      rawEnd = outer.at
    } else if (outer.at > outer.start) {
      return new NotExact('envelope has a content encoding or a content type')
    }
  }
  if (outer.isMalformed) return malformed
  const envelope = { apiVersion, kind, rawStart, rawEnd }
  remember(envelope, bytes, start)
  return envelope
}

/** The metadata of the message in `bytes[start..end)`, which is an object's: always its first
 *  field. */
export function findMetadata(
  bytes: Uint8Array,
  start: number,
  end: number,
): StoredValue | NotExact {
  outer.reset(bytes, start, end)
  if (start === end) return { bytes, start, end }
  const isFirst = outer.nextField() && outer.field === 1 && outer.wire === wireBytes
  if (!isFirst || !outer.readWindow()) {
    return new NotExact('object does not begin with its metadata')
  }
  return { bytes, start: outer.start, end: outer.at }
}

/** The beginning of the last envelope, up to the object's length: values that are read one after
 *  the other mostly begin the same, and comparing bytes takes a tenth of the time of reading names
 *  (bench/codec). */
let lastHeader: Uint8Array = new Uint8Array(0)
let lastName: KindName = { apiVersion: '', kind: '' }

/** The envelope if it is like the last one, and ends as kube-apiserver's do. */
function readKnown(bytes: Uint8Array, start: number, end: number): Envelope | undefined {
  const { length } = lastHeader
  if (length === 0 || start + length + 8 > end) return undefined
  for (let i = 0; i < length; i++) {
    if (bytes[start + i] !== lastHeader[i]) return undefined
  }
  outer.reset(bytes, start + length, end)
  if (!outer.readWindow() || outer.at + 4 !== end) return undefined
  const { start: rawStart, at: rawEnd } = outer
  const isEmptyTrailer =
    bytes[rawEnd] === 0x1a &&
    bytes[rawEnd + 1] === 0 &&
    bytes[rawEnd + 2] === 0x22 &&
    bytes[rawEnd + 3] === 0
  const { apiVersion, kind } = lastName
  return isEmptyTrailer ? { apiVersion, kind, rawStart, rawEnd } : undefined
}

/** Keeps the beginning of an envelope that has its names first, as all of kube-apiserver's have. */
function remember(envelope: Envelope, bytes: Uint8Array, start: number): void {
  const { apiVersion, kind, rawStart, rawEnd } = envelope
  const namesLength = apiVersion.length + kind.length + 4
  const length = 4 + 2 + namesLength + 1
  const isPlain =
    namesLength < 0x80 &&
    rawEnd > rawStart &&
    start + length < rawStart &&
    bytes[start + 4] === 0x0a &&
    bytes[start + 5] === namesLength &&
    bytes[start + length - 1] === 0x12
  if (!isPlain) return
  lastHeader = Uint8Array.prototype.slice.call(bytes, start, start + length)
  lastName = { apiVersion, kind }
}

/** Appends the message `raw` in an envelope, as a kube-apiserver writes it: with empty texts for
 *  what it leaves out. */
export function appendEnvelope(
  out: ByteWriter,
  { apiVersion, kind }: KindName,
  raw: ByteWriter,
): void {
  const names = apiVersion.length + kind.length + 4
  assert(names < 0x80, `name of the kind ${kind} is too long for an envelope`)
  out.reserve(out.length + names + raw.length + 24)
  for (const byte of envelopeMagic) out.appendByte(byte)
  for (const byte of [0x0a, names, 0x0a, apiVersion.length]) out.appendByte(byte)
  out.appendAscii(apiVersion)
  for (const byte of [0x12, kind.length]) out.appendByte(byte)
  out.appendAscii(kind)
  out.appendByte(0x12)
  out.length = writeVarint(out.bytes, out.length, raw.length)
  out.append(raw.bytes, 0, raw.length)
  for (const byte of [0x1a, 0x00, 0x22, 0x00]) out.appendByte(byte)
}

const outer = new WireReader()
const inner = new WireReader()
const malformed = new NotExact('envelope is malformed')

function unexpected(field: number): NotExact {
  return new NotExact(`envelope has field ${field} that we do not know`)
}

/** Names are a few ASCII characters; whatever else stands there names no kind, so its exact text
 *  does not matter. */
function nameFromBytes(bytes: Uint8Array, start: number, end: number): string {
  return textFromBytes(bytes, start, Math.min(end, start + 256))
}
