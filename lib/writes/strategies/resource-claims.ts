/** ResourceClaims. */

import { itemsOf, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'
import { textOf } from '../metadata.ts'
import type { StrategyRow } from './row.ts'

export const resourceClaims: StrategyRow = {
  hasStatus: true,
  keepsMetadata: true,
  returnsDeleted: true,
  subresources: { status: dropDeallocated },
}

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
