/** VolumeAttributesClasses: their driver and parameters never change (KEP 3751). */

import { checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkParameters, checkProvisioner } from './shared/parameters.ts'

export const volumeAttributesClass: BuiltInKind = kind({
  group: 'storage.k8s.io',
  kind: 'VolumeAttributesClass',
  plural: 'volumeattributesclasses',
  returnsDeleted: true,
  validateCreate: checkAttributesClass,
  validateUpdate: (object, old) => {
    for (const name of ['driverName', 'parameters']) checkKept(object, old, name)
    checkNewMeta(object, false)
    checkAttributesClass(object)
  },
})

function checkKept(object: Place, old: Place, name: string): void {
  const [now, was] = [object.in(name), old.in(name)]
  const isKept = isSame(now.value, was.value) && now.size === was.size
  if (isKept) return
  object.in(name).forbidden(`updates to ${name} are forbidden.`)
}

function checkAttributesClass(object: Place): void {
  checkProvisioner(object.in('driverName'))
  const parameters = object.in('parameters')
  checkParameters(parameters)
  if (parameters.size === 0) parameters.required('must contain at least one key/value pair')
}
