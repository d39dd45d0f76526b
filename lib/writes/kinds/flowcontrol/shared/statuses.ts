/** The status of FlowSchemas and PriorityLevelConfigurations. */

import type { JsonObject } from '@watchglass/go'
import { copyMember, metadataOf } from '../../../metadata.ts'
import type { Place } from '../../../validation/place.ts'

export function keepAllMetadata(object: JsonObject, old: JsonObject): void {
  const metadata = new Map(metadataOf(old))
  copyMember(metadata, metadataOf(object), 'managedFields')
  object.set('metadata', metadata)
}

/** The conditions of a status, one of each type. */
export function checkTypes(object: Place): void {
  const seen = new Set<string>()
  for (const condition of object.in('status', 'conditions').items) {
    const type = condition.in('type')
    if (seen.has(type.text)) type.duplicate(type.text)
    seen.add(type.text)
    if (type.text === '') type.required()
  }
}
