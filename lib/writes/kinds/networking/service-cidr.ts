/** ServiceCIDRs: ranges of the addresses of Services (KEP 1880). */

import { parsePrefix } from '@watchglass/go'
import { checkPrefix } from '../../validation/ip-fields.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const serviceCidr: BuiltInKind = kind({
  group: 'networking.k8s.io',
  kind: 'ServiceCIDR',
  plural: 'servicecidrs',
  hasStatus: true,
  keepsMetadata: true,
  validateCreate: object => checkRanges(object.in('spec')),
  validateUpdate: (object, old) => checkRangesUpdate(object.in('spec'), old.in('spec')),
})

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
