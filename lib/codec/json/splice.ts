/** Puts resourceVersion and apiVersion into JSON text at the places that the verifier found. */

import type { ByteWriter } from '@watchglass/base'
import type { JsonVerifier } from './verify.ts'

/** Members to put in. Texts are plain ASCII without anything to escape. */
export interface SpliceOptions {
  readonly resourceVersion: string
  /** Replaces the stored apiVersion: what a None conversion does. */
  readonly apiVersion?: string | undefined
}

/** Appends the object that `verifier` has just proven, with the members put in; without a
 *  newline. */
export function appendSpliced(
  out: ByteWriter,
  verifier: JsonVerifier,
  { resourceVersion, apiVersion }: SpliceOptions,
): void {
  const { bytes } = verifier.input
  const { objectStart, objectEnd, apiVersionStart, apiVersionEnd } = verifier
  const isStored = verifier.resourceVersionStart >= 0
  const from = isStored ? verifier.resourceVersionStart : verifier.insertAt
  const to = isStored ? verifier.resourceVersionEnd : verifier.insertAt
  const isRelabelled = apiVersion !== undefined && apiVersionStart >= 0
  const isLabelFirst = apiVersionStart < from
  let at = objectStart
  if (isRelabelled && isLabelFirst) {
    out.append(bytes, at, apiVersionStart)
    appendQuoted(out, apiVersion)
    at = apiVersionEnd
  }
  out.append(bytes, at, from)
  const isLeftOut = !isStored && resourceVersion === ''
  if (!isStored && !isLeftOut) {
    const isBehind = verifier.isInsertedLast && !verifier.isMetadataEmpty
    out.appendAscii(isBehind ? nameBehind : name)
  }
  if (!isLeftOut) appendQuoted(out, resourceVersion)
  if (!isStored && !isLeftOut && !verifier.isInsertedLast) out.appendByte(comma)
  at = to
  if (isRelabelled && !isLabelFirst) {
    out.append(bytes, at, apiVersionStart)
    appendQuoted(out, apiVersion)
    at = apiVersionEnd
  }
  out.append(bytes, at, objectEnd)
}

const name = '"resourceVersion":'
const nameBehind = ',"resourceVersion":'
const quote = 0x22
const comma = 0x2c

/** In pieces, as joining them would cost more than writing them. */
function appendQuoted(out: ByteWriter, text: string): void {
  out.appendByte(quote)
  out.appendAscii(text)
  out.appendByte(quote)
}
