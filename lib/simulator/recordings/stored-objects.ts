/** Objects of a history of keys and values, as recordings of other tools have them. */

import { NotExact, objectOf, type UntypedObject } from '@watchglass/base'
import { jsonFromStored } from '@watchglass/codec'
import type { KeyValue } from '@watchglass/store'

/** The object without what says nothing elsewhere, such as times that are not set, which are null.
 *  Undefined if the value cannot be read. */
export function objectIn({ value }: KeyValue): UntypedObject | undefined {
  const json = jsonFromStored(value)
  if (json instanceof NotExact) return undefined
  const object = objectOf(JSON.parse(Buffer.from(json).toString(), withoutNulls))
  const { resourceVersion, selfLink, ...metadata } = objectOf(object['metadata'])
  void [resourceVersion, selfLink]
  return { ...object, metadata }
}

/** Patches can say nothing of nulls. */
function withoutNulls(_: string, value: unknown): unknown {
  return value === null ? undefined : value
}
