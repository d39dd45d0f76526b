/** The refusals of etcd that need no state: requests without a key, too many operations, and
 *  transactions that change a key twice. */

import type { Key } from '@watchglass/base'
import {
  type DeleteRangeMessage,
  EtcdError,
  type OperationHolder,
  type OperationMessage,
  type PutMessage,
  type RangeMessage,
  type TxnMessage,
} from '@watchglass/etcd'
import { rangeFromWire } from './kv.ts'

/** etcd's default: so many operations, or compares, in one transaction, nested ones included. */
const txnMaxOperations = 128

export function checkKey(request: RangeMessage | DeleteRangeMessage): void {
  if (request.key === '') throw new EtcdError('emptyKey')
}

export function checkPutRequest(request: PutMessage): void {
  if (request.key === '') throw new EtcdError('emptyKey')
  if (request.ignoreValue && request.value.length > 0) throw new EtcdError('valueProvided')
  if (request.ignoreLease && request.lease !== 0n) throw new EtcdError('leaseProvided')
}

export function checkTxn(txn: TxnMessage): void {
  checkOperations(txn, txnMaxOperations)
  if (txn.success.length > 0) checkOnce(txn.success)
  if (txn.failure.length > 0) checkOnce(txn.failure)
}

/** True when no branch of the transaction can write; one that holds a transaction counts as
 *  writing. */
export function isReadOnly(txn: TxnMessage): boolean {
  return everyOperation(txn, holder => holder.operation?.type === 'range')
}

/** True when a read-only transaction may be answered by any member from what it has. */
export function isSerializable(txn: TxnMessage): boolean {
  return everyOperation(
    txn,
    ({ operation }) => operation?.type !== 'range' || operation.value.serializable,
  )
}

function everyOperation(txn: TxnMessage, passes: (holder: OperationHolder) => boolean): boolean {
  return txn.success.every(passes) && txn.failure.every(passes)
}

function checkOperations({ compare, success, failure }: TxnMessage, maxOperations: number): void {
  const operations = Math.max(compare.length, success.length, failure.length)
  if (operations > maxOperations) throw new EtcdError('tooManyOperations')
  if (compare.some(({ key }) => key === '')) throw new EtcdError('emptyKey')
  for (const { operation } of [...success, ...failure]) {
    switch (operation?.type) {
      case 'range':
      case 'deleteRange':
        checkKey(operation.value)
        break
      case 'put':
        checkPutRequest(operation.value)
        break
      case 'txn':
        checkOperations(operation.value, maxOperations - operations)
        break
      case undefined:
        throw new EtcdError('keyNotFound')
    }
  }
}

/** The keys that a list of operations may write. */
interface Writes {
  readonly puts: ReadonlySet<Key>
  readonly deletes: readonly DeleteRangeMessage[]
}

/** Refuses operations that may change a key twice in one transaction. Of two branches only one is
 *  taken, so they may both change it. etcd lets two cases pass, and so makes two events of one key
 *  at one revision: a put and a delete whose range end is `\0`, and a put in a nested transaction
 *  followed by a delete in the next one. Both are refused here, as its API says they are. */
function checkOnce(holders: readonly OperationHolder[]): Writes {
  const [only] = holders
  if (holders.length <= 1 && only?.operation?.type !== 'txn') return writesOf(only?.operation)
  const operations = holders.map(({ operation }) => operation)
  const deletes: DeleteRangeMessage[] = []
  for (const operation of operations) {
    if (operation?.type === 'deleteRange') deletes.push(operation.value)
  }
  const puts = new Set<Key>()
  for (const operation of operations) {
    if (operation?.type !== 'txn') continue
    const taken = checkOnce(operation.value.success)
    const otherwise = checkOnce(operation.value.failure)
    const below = [taken, otherwise]
    if (below.some(writes => areBothChanging({ puts, deletes }, writes))) {
      throw new EtcdError('duplicateKey')
    }
    for (const writes of below) {
      for (const key of writes.puts) puts.add(key)
      deletes.push(...writes.deletes)
    }
  }
  for (const operation of operations) {
    if (operation?.type !== 'put') continue
    const { key } = operation.value
    if (puts.has(key) || deletes.some(range => isDeleting(range, key))) {
      throw new EtcdError('duplicateKey')
    }
    puts.add(key)
  }
  return { puts, deletes }
}

const nothing: Writes = { puts: new Set(), deletes: [] }

function writesOf(operation: OperationMessage | undefined): Writes {
  switch (operation?.type) {
    case 'put':
      return { puts: new Set([operation.value.key]), deletes: [] }
    case 'deleteRange':
      return { puts: nothing.puts, deletes: [operation.value] }
    case 'range':
    case 'txn':
    case undefined:
      return nothing
  }
}

function areBothChanging(before: Writes, after: Writes): boolean {
  for (const key of after.puts) {
    if (before.puts.has(key) || before.deletes.some(range => isDeleting(range, key))) return true
  }
  for (const key of before.puts) {
    if (after.deletes.some(range => isDeleting(range, key))) return true
  }
  return false
}

function isDeleting({ key: start, rangeEnd }: DeleteRangeMessage, key: Key): boolean {
  const range = rangeFromWire(start, rangeEnd)
  if (range === undefined) return key === start
  return key >= range.start && (range.end === undefined || key < range.end)
}
