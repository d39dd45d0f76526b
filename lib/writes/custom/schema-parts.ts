/** Which parts of a schema say something at all: walks through an object by its schema leave the
 *  others out. */

import { isObject, type UntypedObject } from '@watchglass/base'

/** Whether `says` holds for the schema of any value at or below a value with the given schema.
 *  Asked once for each schema. */
export function anywhereBelow(
  says: (schema: UntypedObject) => boolean,
): (schema: unknown) => boolean {
  const known = new WeakMap<UntypedObject, boolean>()
  const isSaid = (schema: unknown): boolean => {
    if (!isObject(schema)) return false
    const { items, properties, additionalProperties } = schema
    const found =
      known.get(schema) ??
      (says(schema) ||
        isSaid(items) ||
        isSaid(additionalProperties) ||
        (isObject(properties) && Object.values(properties).some(isSaid)))
    known.set(schema, found)
    return found
  }
  return isSaid
}
