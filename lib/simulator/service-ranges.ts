/** The ranges from which Services have their addresses: those of the ServiceCIDR objects that are
 *  stored, or else the one that the server was told. Without any, as in an etcd of which only a
 *  part is there, every address is in range. */

import { isIPv4 } from 'node:net'
import { type Key, NotExact } from '@watchglass/base'
import { itemsOf, memberOf, parseTree } from '@watchglass/go'
import { hasEnvelope, readEnvelope } from '@watchglass/codec'
import type { KeyValue } from '@watchglass/store'
import {
  addressOf,
  type AddressRange,
  drawnFirst,
  numberOfAddress,
  rangeOf,
} from './address-range.ts'
import { eachField, type StoredWindow } from './stored-fields.ts'
import { textOf } from '@watchglass/writes'

export class ServiceRanges {
  readonly #keyspace: Key
  readonly #contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  readonly #told: string | undefined

  /** @param told a CIDR of IPv4 */
  constructor(
    keyspace: Key,
    contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined,
    told?: string,
  ) {
    this.#keyspace = keyspace
    this.#contentsOf = contentsOf
    this.#told = told
  }

  /** The addresses of a network itself and of its broadcasts are no Service's. */
  contains(address: string): boolean {
    const ranges = this.#ranges()
    if (ranges.length === 0 || !isIPv4(address)) return true
    const number = numberOfAddress(address)
    return ranges.some(({ first, size }) => number > first && number < first + size - 1)
  }

  /** The corresponding place in the range of this cluster, for an address that was drawn out of
   *  10.96.0.0/12. The first one is the API server's own. */
  placed(address: string): string {
    const [range] = this.#ranges()
    const places = (range?.size ?? 0) - 3
    if (range === undefined || places < 1) return address
    const place = (numberOfAddress(address) - drawnFirst - 2) % places
    return addressOf(range.first + 2 + (place < 0 ? place + places : place))
  }

  #ranges(): readonly AddressRange[] {
    const stored = [...(this.#contentsOf(this.#keyspace) ?? [])].flatMap(rangesIn)
    const told = this.#told === undefined ? [] : [this.#told]
    return (stored.length === 0 ? told : stored).flatMap(text => rangeOf(text) ?? [])
  }
}

/** Numbers of fields: of a ServiceCIDR, of its metadata and of its spec. */
const fields = { metadata: 1, spec: 2 }
const deletionTimestampField = 9
const cidrsField = 1

/** None of one that is being deleted, and so not ready. */
function rangesIn({ bytes, start, end }: KeyValue): readonly string[] {
  if (!hasEnvelope(bytes, start, end)) {
    const object = parseTree(bytes, start, end)
    if (memberOf(memberOf(object, 'metadata'), 'deletionTimestamp') !== undefined) return []
    return itemsOf(memberOf(memberOf(object, 'spec'), 'cidrs')).map(textOf)
  }
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return []
  const found: string[] = []
  let isDeleting = false
  eachField({ bytes, start: envelope.rawStart, end: envelope.rawEnd }, (field, part) => {
    if (typeof part === 'number') return
    eachField(part, (name, value) => {
      if (field === fields.metadata && name === deletionTimestampField) isDeleting = true
      if (field !== fields.spec || name !== cidrsField || typeof value === 'number') return
      found.push(textIn(value))
    })
  })
  return isDeleting ? [] : found
}

function textIn({ bytes, start, end }: StoredWindow): string {
  return Buffer.from(bytes.subarray(start, end)).toString()
}
