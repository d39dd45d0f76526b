/** IPAddresses: which object has an address of a ServiceCIDR (KEP 1880). */

import { dnsSubdomain, pathSegment } from '../../validation/formats.ts'
import { internalValue } from '../../validation/internal-types.ts'
import { addressProblems } from '../../validation/ip-fields.ts'
import { isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const ipAddress: BuiltInKind = kind({
  group: 'networking.k8s.io',
  kind: 'IPAddress',
  plural: 'ipaddresses',
  namedByPrefix: true,
  nameFormat: addressProblems,
  isCheckedAsNew: true,
  validateCreate: object => checkParent(object.in('spec', 'parentRef')),
  validateUpdate: (object, old) => {
    const [parent, before] = [object.in('spec', 'parentRef'), old.in('spec', 'parentRef')]
    const shown = internalValue('*ParentReference', parent.value)
    checkParent(parent)
    if (!isSame(parent.value, before.value)) parent.invalid('field is immutable', shown)
  },
})

function checkParent(parent: Place): void {
  if (!parent.isSet) {
    parent.required()
    return
  }
  const group = parent.in('group')
  if (group.text !== '') group.mustBe(dnsSubdomain)
  for (const place of [parent.in('resource'), parent.in('name')]) {
    if (place.text === '') place.required()
    else place.mustBe(pathSegment)
  }
  const namespace = parent.in('namespace')
  if (namespace.text !== '') namespace.mustBe(pathSegment)
}
