/** DeviceClasses: selectors and settings that claims refer to (KEP 4381). */

import type { Place } from '../../validation/place.ts'
import { isExtended } from '../../validation/pods/resources.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkOpaque } from './shared/claim-parts.ts'
import { checkList, checkSelectors } from './shared/device-requests.ts'

export const deviceClass: BuiltInKind = kind({
  group: 'resource.k8s.io',
  kind: 'DeviceClass',
  plural: 'deviceclasses',
  returnsDeleted: true,
  counted: ['spec'],
  hasFreePrefix: true,
  isCheckedAsNew: true,
  validateCreate: object => checkClass(object.in('spec')),
  validateUpdate: object => checkClass(object.in('spec')),
})

function checkClass(spec: Place): void {
  checkSelectors(spec.in('selectors'))
  checkList(spec.in('config'), checkOpaque)
  const name = spec.in('extendedResourceName')
  if (name.isSet && !isExtended(name.text)) {
    name.invalid('must be a valid extended resource name', name.text)
  }
}
