/** CSIStorageCapacities: what a class can still provide for some nodes (KEP 1472). */

import { quantityNanos } from '@watchglass/go'
import { dnsSubdomain } from '../../validation/formats.ts'
import { isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { checkLabelSelector, isWrongSelector } from '../../validation/selectors.ts'
import { ofLabelSelector } from '../../warnings/labels.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const csiStorageCapacity: BuiltInKind = kind({
  group: 'storage.k8s.io',
  kind: 'CSIStorageCapacity',
  plural: 'csistoragecapacities',
  needsVersion: true,
  isCheckedAsNew: true,
  validateCreate: object => checkStorageCapacity(object),
  validateUpdate: (object, old) => {
    checkStorageCapacity(object, old)
    for (const name of ['nodeTopology', 'storageClassName']) {
      const place = object.in(name)
      const was = old.in(name)
      const isThere = name === 'storageClassName' || place.isSet === was.isSet
      if (isThere && isSame(place.value, was.value)) continue
      const empty = name === 'nodeTopology' ? null : ''
      place.invalid('field is immutable', place.value ?? empty)
    }
  },
  warn: object => ofLabelSelector(object.in('nodeTopology')),
})

function checkStorageCapacity(object: Place, old?: Place): void {
  const areValuesFree = isWrongSelector(old?.in('nodeTopology'))
  checkLabelSelector(object.in('nodeTopology'), { areValuesFree })
  const storageClass = object.in('storageClassName')
  storageClass.mustBe(dnsSubdomain)
  const capacity = object.in('capacity')
  if (capacity.isSet && quantityNanos(capacity.text) < 0n) {
    capacity.invalid('must be greater than or equal to 0')
  }
}
