/** Objects of a history of keys and values, as recordings of other tools have them. */

import type { UntypedObject } from '../../base/untyped.ts'
import { objectOf } from '../../base/untyped.ts'
import { NotExact } from '../../codec/not-exact.ts'
import { jsonFromStored } from '../../codec/transcode/transcode.ts'
import type { KeyValue } from '../../store/event.ts'

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
