/** The meaning of an etcd transaction: its compares, and those of nested ones, look at the state
 *  before it; then one branch of each is checked as a whole, and done in order. */

import type { Steps } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import {
  type CompareMessage,
  compareResult,
  compareTarget,
  EtcdError,
  type OperationHolder,
  type OperationMessage,
  type RangeMessage,
  type ResultHolder,
  type TxnMessage,
  type TxnResponseMessage,
} from '@watchglass/etcd'
import { changesAtOnce } from './at-once.ts'
import {
  evaluateRange,
  type VersionedContents,
  partialHeader,
  rangeFromWire,
  type Transaction,
} from './kv.ts'

/** Answers a transaction that only reads. */
export function evaluateReadOnlyTxn(
  contents: VersionedContents,
  txn: TxnMessage,
): TxnResponseMessage {
  const plan = planTxn(contents, txn)
  checkRanges(contents, plan)
  const results = plan.steps.map(({ operation }): ResultHolder => {
    const value = evaluateRange(contents, operation.value as RangeMessage)
    return { result: { type: 'range', value } }
  })
  return { header: partialHeader(contents.revision), succeeded: plan.succeeded, results }
}

/** Does a transaction that may write. */
export function* evaluateTxn(transaction: Transaction, txn: TxnMessage): Steps<TxnResponseMessage> {
  const plan = planTxn(transaction, txn)
  checkPuts(transaction, plan)
  checkRanges(transaction, plan)
  const response = yield* execute(transaction, plan)
  return { ...response, header: partialHeader(transaction.revision) }
}

/** The branch that a transaction takes, with those that its nested ones take. */
interface Plan {
  readonly succeeded: boolean
  readonly steps: readonly Step[]
}

interface Step {
  readonly operation: OperationMessage
  /** Plan of a nested transaction. */
  readonly nested: Plan | undefined
}

function planTxn(contents: VersionedContents, txn: TxnMessage): Plan {
  const succeeded = txn.compare.every(compare => isTrue(contents, compare))
  const taken = succeeded ? txn.success : txn.failure
  return { succeeded, steps: taken.map(holder => planStep(contents, holder)) }
}

function planStep(contents: VersionedContents, { operation }: OperationHolder): Step {
  if (operation === undefined) throw new EtcdError('keyNotFound')
  const nested = operation.type === 'txn' ? planTxn(contents, operation.value) : undefined
  return { operation, nested }
}

function checkPuts(transaction: Transaction, plan: Plan): void {
  for (const { operation, nested } of plan.steps) {
    if (operation.type === 'put') transaction.checkPut(operation.value)
    if (nested !== undefined) checkPuts(transaction, nested)
  }
}

function checkRanges(contents: VersionedContents, plan: Plan): void {
  for (const { operation, nested } of plan.steps) {
    if (nested !== undefined) checkRanges(contents, nested)
    if (operation.type !== 'range') continue
    const { revision } = operation.value
    if (revision === 0) continue
    if (revision > contents.revision) {
      throw new EtcdError('futureRevision', { latest: contents.revision })
    }
    if (revision < contents.compactRevision) {
      throw new EtcdError('compacted', { oldest: contents.compactRevision })
    }
  }
}

/** Does all steps. The header of a nested answer is empty, as etcd has it. */
function* execute(transaction: Transaction, plan: Plan): Steps<TxnResponseMessage> {
  const results: ResultHolder[] = []
  for (const step of plan.steps) {
    // Each looks through what those before it have changed.
    if (results.length > 0 && transaction.changes.length >= changesAtOnce) yield
    results.push(yield* executeStep(transaction, step))
  }
  return { header: partialHeader(0), succeeded: plan.succeeded, results }
}

function* executeStep(transaction: Transaction, { operation, nested }: Step): Steps<ResultHolder> {
  switch (operation.type) {
    case 'range':
      return { result: { type: 'range', value: evaluateRange(transaction, operation.value) } }
    case 'put':
      return { result: { type: 'put', value: transaction.put(operation.value) } }
    case 'deleteRange': {
      const value = yield* transaction.deleteRange(operation.value)
      return { result: { type: 'deleteRange', value } }
    }
    case 'txn':
      return { result: { type: 'txn', value: yield* execute(transaction, nested as Plan) } }
  }
}

/** True when the compare holds for every entry of its range. A range without entries compares as an
 *  entry whose fields are all zero, but no value compares with a value that is not there. */
function isTrue(contents: VersionedContents, compare: CompareMessage): boolean {
  const range = rangeFromWire(compare.key, compare.rangeEnd)
  if (range !== undefined) {
    const entries = contents.range(range, {})
    if (entries.length > 0) return entries.every(entry => isTrueOf(entry, compare))
  } else {
    const entry = contents.get(compare.key)
    if (entry !== undefined) return isTrueOf(entry, compare)
  }
  return compare.target !== compareTarget.value && isTrueOf(undefined, compare)
}

function isTrueOf(entry: KeyValue | undefined, compare: CompareMessage): boolean {
  const order = compareTo(entry, compare)
  switch (compare.result) {
    case compareResult.equal:
      return order === 0
    case compareResult.notEqual:
      return order !== 0
    case compareResult.greater:
      return order > 0
    case compareResult.less:
      return order < 0
    default:
      return true
  }
}

function compareTo(entry: KeyValue | undefined, compare: CompareMessage): number {
  switch (compare.target) {
    case compareTarget.version:
      return (entry?.version ?? 0) - compare.version
    case compareTarget.create:
      return (entry?.createRevision ?? 0) - compare.createRevision
    case compareTarget.mod:
      return (entry?.modRevision ?? 0) - compare.modRevision
    case compareTarget.value:
      return entry === undefined ? 0 : Buffer.compare(entry.value, compare.value)
    case compareTarget.lease: {
      const lease = entry?.lease ?? 0n
      return lease === compare.lease ? 0 : lease > compare.lease ? 1 : -1
    }
    default:
      return 0
  }
}
