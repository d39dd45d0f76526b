/** RuntimeClasses: a PUT creates them, and their handler never changes. */

import { dnsLabel } from '../../validation/formats.ts'
import { internalValue } from '../../validation/internal-types.ts'
import { checkFreeMeta, checkImmutable, checkLabels } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { checkRequirements } from '../../validation/pods/resources.ts'
import { checkTolerations } from '../../validation/pods/scheduling.ts'
import { ofOldLabel } from '../../warnings/labels.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const runtimeClass: BuiltInKind = kind({
  group: 'node.k8s.io',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  createsOnUpdate: true,
  needsVersion: true,
  hasFreeFinalizers: true,
  validateCreate: checkRuntimeClass,
  validateUpdate: (object, old) => {
    checkFreeMeta(object, false)
    checkRuntimeClass(object)
    checkImmutable(object.in('handler'), old.in('handler'))
  },
  warn: object =>
    object
      .in('scheduling', 'nodeSelector')
      .entries.flatMap(([label]) => ofOldLabel(label, 'scheduling.nodeSelector')),
})

function checkRuntimeClass(object: Place): void {
  const handler = object.in('handler')
  if (handler.text === '') handler.required()
  else handler.mustBe(dnsLabel)
  const overhead = object.in('overhead')
  if (overhead.isSet) {
    const limits = overhead.in('podFixed').value ?? null
    checkRequirements(overhead.as(overhead.path, new Map([['limits', limits]])), new Set())
  }
  const scheduling = object.in('scheduling')
  if (!scheduling.isSet) return
  checkLabels(scheduling.in('nodeSelector'))
  const tolerations = scheduling.in('tolerations')
  checkTolerations(tolerations)
  const seen = new Set<string>()
  for (const toleration of tolerations.items) {
    const names = ['key', 'operator', 'value', 'effect']
    const key = names.map(name => toleration.in(name).text).join('\n')
    if (seen.has(key)) toleration.duplicate(internalValue('Toleration', toleration.value))
    seen.add(key)
  }
}
