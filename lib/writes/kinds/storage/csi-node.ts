/** CSINodes: the drivers of a node. */

import type { JsonObject } from '@watchglass/go'
import { byteLength, qualifiedName } from '../../validation/formats.ts'
import { internalValue } from '../../validation/internal-types.ts'
import { checkNewMeta, isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { checkDriverName } from '../../validation/pods/volumes.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const csiNode: BuiltInKind = kind({
  group: 'storage.k8s.io',
  kind: 'CSINode',
  plural: 'csinodes',
  needsVersion: true,
  returnsDeleted: true,
  hasFreeUpdate: true,
  validateCreate: object => checkNodeDrivers(object.in('spec', 'drivers')),
  validateUpdate: checkNodeUpdate,
})

function checkNodeDrivers(drivers: Place): void {
  const names = new Set<string>()
  for (const driver of drivers.items) {
    const [name, id] = [driver.in('name'), driver.in('nodeID')]
    checkDriverName(name)
    if (id.text === '') id.required()
    if (byteLength(id.text) > 256) id.invalid('must be 256 characters or less')
    driver.in('allocatable', 'count').notNegative()
    if (names.has(name.text)) name.duplicate(name.text)
    names.add(name.text)
    const keys = new Set<string>()
    for (const key of driver.in('topologyKeys').texts) {
      if (key === '') driver.required()
      if (keys.has(key)) driver.duplicate(key)
      keys.add(key)
      driver.invalidFor(qualifiedName(key), key)
    }
  }
}

function checkNodeUpdate(object: Place, old: Place): void {
  checkNewMeta(object, false)
  const [drivers, before] = [object.in('spec', 'drivers'), old.in('spec', 'drivers')]
  checkNodeDrivers(drivers)
  for (const was of before.items) {
    for (const driver of drivers.items) {
      if (driver.in('name').text !== was.in('name').text) continue
      if (isSame(withoutCount(driver), withoutCount(was))) continue
      drivers.invalid('field is immutable', internalValue('CSINodeDriver', withoutCount(driver)))
    }
  }
}

function withoutCount({ object }: Place): JsonObject {
  return new Map([...(object ?? [])].filter(([name]) => name !== 'allocatable'))
}
