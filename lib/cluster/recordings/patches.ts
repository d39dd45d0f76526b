/** Changes of stored objects in the recordings of kwokctl, which are patches. */

import { objectOf, type UntypedObject } from '../../base/untyped.ts'
import { type JsonObject, textInOrder } from '../../codec/json/tree.ts'
import { StatusError } from '../../kube/status.ts'
import { jsonBody } from '../write/decode/documents.ts'
import { DecodeError } from '../write/decode/typed-decoder.ts'
import { applyMergePatch } from '../write/patches/merge-patch.ts'
import { StrategicFailure } from '../write/patches/strategic/failures.ts'
import type { PatchType } from '../write/patches/strategic/patch-schema.ts'
import { strategicMerge } from '../write/patches/strategic/strategic-merge.ts'

/** A patch that does not fit its object, or that is larger or deeper than what a write may have. */
export class UnfitPatch extends Error {}

/** Returns what a patch makes of an object, which is given as JSON; throws `UnfitPatch`.
 *  @param type undefined for custom resources, whose patches are merged without a schema */
export function patchedObject(
  live: string,
  patch: UntypedObject,
  type: PatchType | undefined,
): UntypedObject {
  try {
    const [from, changes] = [treeOf(live), treeOf(JSON.stringify(patch))]
    const merged =
      type === undefined ? applyMergePatch(from, changes) : strategicMerge(from, changes, type)
    return objectOf(JSON.parse(textInOrder(merged)))
  } catch (error) {
    const isUnfit =
      error instanceof StrategicFailure ||
      error instanceof DecodeError ||
      error instanceof StatusError
    throw isUnfit ? new UnfitPatch(error.message, { cause: error }) : error
  }
}

function treeOf(json: string): JsonObject {
  const { value } = jsonBody(Buffer.from(json))
  return value instanceof Map ? value : new Map()
}
