/** Puts resourceVersion and apiVersion into JSON text at the places that the skimmer found. */

import type { ByteWriter } from '../byte-writer.ts'
import type { JsonSkimmer } from './skim.ts'

/** What to put in. Texts are plain ASCII without anything to escape. */
export interface SpliceOptions {
  readonly resourceVersion: string
  /** Replaces the stored apiVersion: what a None conversion does. */
  readonly apiVersion?: string | undefined
}

/** Appends the object that `skimmer` has just proven in `bytes`, with the members put in; without a newline. */
export function appendSpliced(
  out: ByteWriter,
  bytes: Uint8Array,
  skimmer: JsonSkimmer,
  { resourceVersion, apiVersion }: SpliceOptions,
): void {
  const version = resourceVersionEdit(skimmer, resourceVersion)
  const { apiVersionStart: start, apiVersionEnd: end } = skimmer
  const label =
    apiVersion === undefined || start < 0 ? undefined : { start, end, text: `"${apiVersion}"` }
  let at = skimmer.objectStart
  if (label !== undefined && label.start < version.start) at = appendEdit(out, bytes, at, label)
  at = appendEdit(out, bytes, at, version)
  if (label !== undefined && label.start > version.start) at = appendEdit(out, bytes, at, label)
  out.append(bytes, at, skimmer.objectEnd)
}

/** Replaces `bytes[start..end)` by `text`. */
interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

function resourceVersionEdit(skimmer: JsonSkimmer, resourceVersion: string): Edit {
  const { resourceVersionStart: start, resourceVersionEnd: end, insertAt } = skimmer
  if (start >= 0) return { start, end, text: `"${resourceVersion}"` }
  const member = `"resourceVersion":"${resourceVersion}"`
  if (!skimmer.isInsertedLast) return { start: insertAt, end: insertAt, text: `${member},` }
  const text = skimmer.isMetadataEmpty ? member : `,${member}`
  return { start: insertAt, end: insertAt, text }
}

function appendEdit(out: ByteWriter, bytes: Uint8Array, from: number, edit: Edit): number {
  out.append(bytes, from, edit.start)
  out.appendAscii(edit.text)
  return edit.end
}
