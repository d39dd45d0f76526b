/** DenyServiceExternalIPs: no Service gets external addresses that it did not have. */

import { itemsOf, type JsonObject } from '@watchglass/go'
import { textOf } from '../../metadata.ts'
import { partOf } from '../pod-parts.ts'
import type { AdmissionPlugin } from '../plugin.ts'
import { forbidden } from '../refusals.ts'

export const denyServiceExternalIps: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  validate(attributes) {
    const { operation, object, old } = attributes
    if (operation === 'DELETE' || !attributes.isOf('', 'services')) return undefined
    const known = new Set(addressesOf(old))
    if (addressesOf(object).every(address => known.has(address))) return undefined
    throw forbidden(attributes, 'Use of external IPs is denied by admission control')
  },
}

function addressesOf(service: JsonObject | undefined): string[] {
  return itemsOf(partOf(service, 'spec').get('externalIPs')).map(item => textOf(item))
}
