/** Objects of aggregated API servers that are stored as JSON. Their Go types are unknown to us, so
 *  their text must already be as Go writes it, members in the order of the types; then
 *  resourceVersion is put in where ObjectMeta declares it. */

import { type ByteWriter, NotExact, textFromBytes } from '@watchglass/base'
import type { StoredValue } from '../stored-value.ts'
import { JsonVerifier } from './verify.ts'
import { appendSpliced } from './splice.ts'

export interface DeclaredOptions {
  readonly resourceVersion: string
  readonly apiVersion: string
  /** The apiVersion of the stored object, where it is another one. */
  readonly storedApiVersion?: string | undefined
  readonly kind: string
  /** Items of lists carry neither kind nor apiVersion. */
  readonly isItem: boolean
}

const verifier = new JsonVerifier()

/** Appends the object, without a newline; or says why that cannot be done exactly, and appends
 *  nothing. */
export function appendDeclared(
  out: ByteWriter,
  { bytes, start, end }: StoredValue,
  { resourceVersion, apiVersion, storedApiVersion = apiVersion, kind, isItem }: DeclaredOptions,
): NotExact | undefined {
  const options = { order: 'declared', root: undefined, metadata: undefined } as const
  if (!verifier.verify(bytes, start, end, options)) {
    return new NotExact('JSON is not as Go writes it')
  }
  if (
    contentOf(bytes, verifier.apiVersionStart, verifier.apiVersionEnd) !== storedApiVersion ||
    contentOf(bytes, verifier.kindStart, verifier.kindEnd) !== kind
  ) {
    return new NotExact('stored value is of another version or kind')
  }
  const from = out.length
  const isRelabelled = storedApiVersion !== apiVersion
  appendSpliced(out, verifier, {
    resourceVersion,
    apiVersion: isRelabelled ? apiVersion : undefined,
  })
  if (!isItem) return undefined
  const typeMeta = `{"kind":"${kind}","apiVersion":"${apiVersion}",`
  if (textFromBytes(out.bytes, from, Math.min(out.length, from + typeMeta.length)) !== typeMeta) {
    out.length = from
    return new NotExact('object does not begin with its kind and apiVersion')
  }
  out.bytes.copyWithin(from + 1, from + typeMeta.length, out.length)
  out.length -= typeMeta.length - 1
  return undefined
}

/** The content of a string, or '' if there is none. */
function contentOf(bytes: Uint8Array, start: number, end: number): string {
  return start < 0 ? '' : textFromBytes(bytes, start + 1, end - 1)
}
