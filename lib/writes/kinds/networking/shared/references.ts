/** References to objects of any kind. */

import { dnsSubdomain, pathSegment } from '../../../validation/formats.ts'
import type { Place } from '../../../validation/place.ts'

export function checkReference(reference: Place): void {
  const [group, kind, name] = [reference.in('apiGroup'), reference.in('kind'), reference.in('name')]
  if (group.isSet) group.mustBe(dnsSubdomain)
  if (kind.text === '') kind.required()
  else kind.mustBe(pathSegment)
  if (name.text === '') name.required()
  else name.mustBe(pathSegment)
}
