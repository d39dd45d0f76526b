/** Puts resourceVersion and apiVersion into JSON text at the places that the skimmer found. */

import type { ByteWriter } from '../output/byte-writer.ts'
import type { JsonSkimmer } from './verify.ts'

/** What to put in. Texts are plain ASCII without anything to escape. */
export interface SpliceOptions {
  readonly resourceVersion: string
  /** Replaces the stored apiVersion: what a None conversion does. */
  readonly apiVersion?: string | undefined
}

/** Appends the object that `skimmer` has just proven, with the members put in; without a newline. */
export function appendSpliced(
  out: ByteWriter,
  skimmer: JsonSkimmer,
  { resourceVersion, apiVersion }: SpliceOptions,
): void {
  const { bytes } = skimmer.input
  const { objectStart, objectEnd, apiVersionStart, apiVersionEnd } = skimmer
  const isStored = skimmer.resourceVersionStart >= 0
  const from = isStored ? skimmer.resourceVersionStart : skimmer.insertAt
  const to = isStored ? skimmer.resourceVersionEnd : skimmer.insertAt
  const isRelabelled = apiVersion !== undefined && apiVersionStart >= 0
  const isLabelFirst = apiVersionStart < from
  let at = objectStart
  if (isRelabelled && isLabelFirst) {
    out.append(bytes, at, apiVersionStart)
    appendQuoted(out, apiVersion)
    at = apiVersionEnd
  }
  out.append(bytes, at, from)
  if (!isStored) {
    const isBehind = skimmer.isInsertedLast && !skimmer.isMetadataEmpty
    out.appendAscii(isBehind ? nameBehind : name)
  }
  appendQuoted(out, resourceVersion)
  if (!isStored && !skimmer.isInsertedLast) out.appendByte(comma)
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
