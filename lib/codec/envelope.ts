/** The envelope that Kubernetes puts around protobuf objects in etcd and on the wire: `k8s\0`, then a message Unknown
 *  {1 typeMeta {1 apiVersion, 2 kind}, 2 raw, 3 contentEncoding, 4 contentType}. Reads it without copying the object. */

import { assert } from '../base/assert.ts'
import type { ByteWriter } from './byte-writer.ts'
import { NotExact } from './not-exact.ts'
import { textFromBytes } from './text.ts'
import { WireReader, wireBytes } from './wire-reader.ts'

/** How objects name what they are. */
export interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

/** What an envelope says, and where the object's own bytes are. */
export interface Envelope extends KindName {
  /** The window of the object's message, in the array that was read. */
  readonly rawStart: number
  readonly rawEnd: number
}

/** `k8s\0` */
export const envelopeMagic: readonly number[] = [0x6b, 0x38, 0x73, 0x00]

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

/** Reads the envelope of `bytes[start..end)`. What no kube-apiserver writes (an unknown field, a repeated one, a content
 *  encoding) is not exact, as its meaning is not ours to guess. */
export function readEnvelope(bytes: Uint8Array, start: number, end: number): Envelope | NotExact {
  if (!hasEnvelope(bytes, start, end)) return new NotExact('value has no protobuf envelope')
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
  return { apiVersion, kind, rawStart, rawEnd }
}

/** Appends the message `raw` in an envelope, as a kube-apiserver writes it: with empty texts for what it leaves out. */
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
  for (let rest = raw.length; ; rest = Math.floor(rest / 0x80)) {
    out.appendByte(rest < 0x80 ? rest : (rest % 0x80) | 0x80)
    if (rest < 0x80) break
  }
  out.append(raw.bytes, 0, raw.length)
  for (const byte of [0x1a, 0x00, 0x22, 0x00]) out.appendByte(byte)
}

const outer = new WireReader()
const inner = new WireReader()
const malformed = new NotExact('envelope is malformed')

function unexpected(field: number): NotExact {
  return new NotExact(`envelope has field ${field} that we do not know`)
}

/** Names are a few ASCII characters; whatever else stands there names no kind, so its exact text does not matter. */
function nameFromBytes(bytes: Uint8Array, start: number, end: number): string {
  return textFromBytes(bytes, start, Math.min(end, start + 256))
}
