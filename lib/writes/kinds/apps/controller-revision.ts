/** ControllerRevisions: a template as it once was, which never changes. */

import { asWritten, isSameRaw } from '../../raw-json.ts'
import { checkNewMeta } from '../../validation/object-meta.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const controllerRevision: BuiltInKind = kind({
  group: 'apps',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  validateCreate: object => {
    object.in('revision').notNegative()
    const data = object.in('data')
    if (!data.isSet) data.required('data is mandatory')
    else if (data.object === undefined) data.required('data must be a valid JSON object')
  },
  validateUpdate: (object, old) => {
    checkNewMeta(object)
    object.in('revision').notNegative()
    const data = object.in('data')
    if (!isSameRaw(data.value, old.in('data').value)) {
      data.invalid('field is immutable', asWritten(data.value ?? null))
    }
  },
})
