/** ResourceClaimTemplates: a claim for each pod (KEP 4381). */

import type { JsonObject } from '@watchglass/go'
import { internalValue } from '../../validation/internal-types.ts'
import { checkTemplateObjectMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkDevices, checkSameSpec } from './shared/device-requests.ts'

export const resourceClaimTemplate: BuiltInKind = kind({
  group: 'resource.k8s.io',
  kind: 'ResourceClaimTemplate',
  plural: 'resourceclaimtemplates',
  returnsDeleted: true,
  isCheckedAsNew: true,
  validateCreate: checkTemplate,
  validateUpdate: (object, old) => {
    checkTemplate(object)
    checkSameSpec(object, old, shownTemplate(object.in('spec')))
  },
})

function checkTemplate(object: Place): void {
  checkTemplateObjectMeta(object.in('spec', 'metadata'))
  checkDevices(object.in('spec', 'spec', 'devices'))
}

function shownTemplate(spec: Place): JsonObject {
  const claim = internalValue('ResourceClaimSpec', spec.in('spec').value)
  return new Map([...(spec.in('metadata').object ?? []), ['Spec', claim]])
}
