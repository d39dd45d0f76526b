/** Changes of stored objects in the recordings of kwokctl, which are patches. */

import { objectOf, type UntypedObject } from '@watchglass/base'
import { type JsonObject, textInOrder } from '@watchglass/go'
import { StatusError } from '@watchglass/kube'
import {
  applyMergePatch,
  DecodeError,
  jsonBody,
  type PatchType,
  StrategicFailure,
  strategicMerge,
} from '@watchglass/writes'

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
