/** Which keys the owner of a certificate may read and write, and which leases a transaction names.
 *  Ranges must lie as a whole below one of the prefixes. */

import { type Key, type KeyRange, prefixRange, singleKey } from '@watchglass/base'
import { rangeFromWire } from '../engine/kv.ts'
import type {
  DeleteRangeMessage,
  OperationHolder,
  PutMessage,
  RangeMessage,
  TxnMessage,
} from '@watchglass/etcd'

/** The prefixes of keys that may be read, and of those that may be written. Who may write may
 *  read. */
export interface AllowedPrefixes {
  readonly read: readonly Key[]
  readonly write: readonly Key[]
}

type Access = 'read' | 'write'

export class Rights {
  readonly name: string
  readonly #ranges: Readonly<Record<Access, readonly KeyRange[]>>

  constructor(name: string, { read, write }: AllowedPrefixes) {
    this.name = name
    this.#ranges = { read: [...read, ...write].map(prefixRange), write: write.map(prefixRange) }
  }

  /** True if some keys may be written. */
  get canWrite(): boolean {
    return this.#ranges.write.length > 0
  }

  mayRange(request: Pick<RangeMessage, 'key' | 'rangeEnd'>): boolean {
    return this.#may('read', request)
  }

  mayPut({ key, previous }: PutMessage): boolean {
    const request = { key, rangeEnd: '' as Key }
    return this.#may('write', request) && (!previous || this.#may('read', request))
  }

  mayDelete(request: DeleteRangeMessage): boolean {
    return this.#may('write', request)
  }

  mayWriteKeys(keys: readonly Key[]): boolean {
    return keys.every(key => this.#may('write', { key, rangeEnd: '' as Key }))
  }

  mayTxn({ compare, success, failure }: TxnMessage): boolean {
    return (
      compare.every(one => this.mayRange(one)) &&
      [...success, ...failure].every(one => this.#mayOperate(one))
    )
  }

  #mayOperate({ operation }: OperationHolder): boolean {
    switch (operation?.type) {
      case 'range':
        return this.mayRange(operation.value)
      case 'put':
        return this.mayPut(operation.value)
      case 'deleteRange':
        return this.mayDelete(operation.value)
      case 'txn':
        return this.mayTxn(operation.value)
      case undefined:
        // etcd refuses an empty operation.
        return true
    }
  }

  #may(access: Access, { key, rangeEnd }: { readonly key: Key; readonly rangeEnd: Key }): boolean {
    const wanted = rangeFromWire(key, rangeEnd) ?? singleKey(key)
    return this.#ranges[access].some(
      ({ start, end }) =>
        wanted.start >= start &&
        (end === undefined || (wanted.end !== undefined && wanted.end <= end)),
    )
  }
}

/** The leases that a transaction gives keys to, in whatever depth; 0 is none. */
export function leasesOfTxn({ success, failure }: TxnMessage): bigint[] {
  return [...success, ...failure].flatMap(({ operation }) => {
    if (operation?.type === 'put') return [operation.value.lease]
    return operation?.type === 'txn' ? leasesOfTxn(operation.value) : []
  })
}
