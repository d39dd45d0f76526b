/** ConfigMaps: up to 1 MiB of data, which may be immutable (KEP 1412). */

import { byteLength, configKey } from '../../validation/formats.ts'
import { checkNewMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkImmutableContent, contentMaxBytes, decodedLength } from './shared/content.ts'

export const configMap: BuiltInKind = kind({
  group: '',
  kind: 'ConfigMap',
  plural: 'configmaps',
  validateCreate: checkConfigMap,
  validateUpdate: (object, old) => {
    checkImmutableContent(object, old, ['data', 'binaryData'])
    checkNewMeta(object)
    checkConfigMap(object)
  },
})

function checkConfigMap(object: Place): void {
  const [data, binaryData] = [object.in('data'), object.in('binaryData')]
  let size = 0
  for (const [key, value] of data.entries) {
    value.invalidFor(configKey(key), key)
    if (binaryData.object?.has(key) === true) {
      value.invalid('duplicate of key present in binaryData', key)
    }
    size += byteLength(value.text)
  }
  for (const [key, value] of binaryData.entries) {
    value.invalidFor(configKey(key), key)
    size += decodedLength(value.text)
  }
  if (size > contentMaxBytes) object.as('[]').tooLong(contentMaxBytes)
}
