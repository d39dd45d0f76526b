/** ResourceClaims: devices that pods use (KEP 4381). What drivers say of a device goes when it is
 *  deallocated. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { textOf } from '../../metadata.ts'
import { internalValue } from '../../validation/internal-types.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkClaimStatus } from './resource-claim/status.ts'
import { checkDevices, checkSameSpec } from './shared/device-requests.ts'

export const resourceClaim: BuiltInKind = kind({
  group: 'resource.k8s.io',
  kind: 'ResourceClaim',
  plural: 'resourceclaims',
  hasStatus: true,
  keepsMetadata: true,
  returnsDeleted: true,
  isCheckedAsNew: true,
  validateCreate: object => checkDevices(object.in('spec', 'devices')),
  validateUpdate: (object, old) =>
    checkSameSpec(object, old, internalValue('ResourceClaimSpec', object.in('spec').value)),
  subresources: {
    status: {
      prepare: dropDeallocated,
      validate: checkClaimStatus,
    },
  },
})

/** Devices that the claim has no more: what drivers say of them goes with them. */
function dropDeallocated(object: JsonObject, old: JsonObject): void {
  const status = object.get('status')
  if (!(status instanceof Map)) return
  const gone = allocatedIn(old.get('status'))
  for (const id of allocatedIn(status)) gone.delete(id)
  const devices = itemsOf(status.get('devices')).filter(device => !gone.has(idOf(device)))
  if (devices.length === 0) status.delete('devices')
  else status.set('devices', devices)
}

function allocatedIn(status: JsonValue | undefined): Set<string> {
  const devices = memberOf(memberOf(status, 'allocation'), 'devices')
  return new Set(itemsOf(memberOf(devices, 'results')).map(idOf))
}

function idOf(device: JsonValue): string {
  const names = ['driver', 'pool', 'device', 'shareID']
  return names.map(name => textOf(memberOf(device, name))).join(' ')
}
