/** ServiceCIDRs and IPAddresses: the ranges that Services take addresses from, and who has
 *  which. */

import { parsePrefix } from '@watchglass/go'
import { dnsSubdomain, pathSegment } from '../formats.ts'
import { addressProblems, checkPrefix } from '../ip-fields.ts'
import { internalValue } from '../internal-types.ts'
import type { KindRules } from '../kind-rules.ts'
import { isSame } from '../object-meta.ts'
import type { Place } from '../place.ts'

export const serviceRangeRules: Readonly<Record<string, KindRules>> = {
  'IPAddress.networking.k8s.io': {
    name: addressProblems,
    isCheckedAsNew: true,
    create: object => checkParent(object.in('spec', 'parentRef')),
    update: (object, old) => {
      const [parent, before] = [object.in('spec', 'parentRef'), old.in('spec', 'parentRef')]
      const shown = internalValue('*ParentReference', parent.value)
      checkParent(parent)
      if (!isSame(parent.value, before.value)) parent.invalid('field is immutable', shown)
    },
  },
  'ServiceCIDR.networking.k8s.io': {
    create: object => checkRanges(object.in('spec')),
    update: (object, old) => checkRangesUpdate(object.in('spec'), old.in('spec')),
  },
}

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

function checkRanges(spec: Place): void {
  const ranges = spec.in('cidrs')
  if (ranges.size === 0) {
    ranges.required('at least one CIDR required')
    return
  }
  if (ranges.size > 2) {
    ranges.invalid('may only hold up to 2 values', new Map([['CIDRs', ranges.value ?? null]]))
    return
  }
  for (const range of ranges.items) checkPrefix(range)
  const [first, second] = ranges.texts.map(text => parsePrefix(text)?.address.isV4)
  if (first !== undefined && first === second) {
    ranges.invalid(
      'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    )
  }
}

/** A range never changes; one of the other family may come to it. */
function checkRangesUpdate(spec: Place, old: Place): void {
  const [ranges, before] = [spec.in('cidrs'), old.in('cidrs')]
  const detail = 'field is immutable'
  if (ranges.size === before.size) {
    const { texts } = before
    for (const [i, range] of ranges.items.entries()) {
      if (range.text !== texts[i]) range.invalid(detail)
    }
  } else if (before.size === 1 && ranges.size === 2) {
    const [range] = ranges.items
    if (range !== undefined && range.text !== before.texts[0]) range.invalid(detail)
    checkRanges(spec)
  } else ranges.invalid(detail, ranges.shown)
}
