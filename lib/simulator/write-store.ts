/** Writes of the API by transactions against etcd: each compares the revision of its key. */

import { CacheError, type Clock, type Revision, singleKey } from '@watchglass/base'
import type { Client, OperationResult, TxnRequest } from '@watchglass/etcd'
import { plainError } from '@watchglass/kube'
import type { Commit, WriteChange, WriteStore } from '@watchglass/writes'
import type { KeyValue } from '@watchglass/store'

export function createWriteStore(client: Client, clock: Clock): WriteStore {
  const leases = new Leases(client, clock)
  return {
    async get(key, signal) {
      const { entries } = await client.range({ range: singleKey(key) }, signal)
      return entries[0]
    },
    async list(range, { limit, revision }, signal) {
      const at = revision as Revision | undefined
      const { entries, more, header } = await client.range({ range, limit, revision: at }, signal)
      return { entries, more, revision: revision ?? header.revision }
    },
    async commit(change, signal): Promise<Commit> {
      const lease = await leases.forSeconds(change.ttlSeconds, signal)
      const { succeeded, header, results } = await client
        .txn(txnOf(change, lease), signal)
        .catch(refused)
      if (succeeded) return { type: 'done', revision: header.revision }
      return { type: 'changed', current: entryIn(results) }
    },
  }
}

/** kube-apiserver gives etcd's words back for an object that is too large for etcd. */
function refused(error: unknown): never {
  if (!(error instanceof CacheError) || error.code !== 'too_large') throw error
  throw plainError('etcdserver: request is too large')
}

function txnOf({ key, expected, value }: WriteChange, lease: bigint): TxnRequest {
  const range = singleKey(key)
  return {
    compares: [{ key, target: 'modRevision', result: 'equal', value: expected }],
    success: [value === undefined ? { type: 'delete', range } : { type: 'put', key, value, lease }],
    failure: [{ type: 'range', request: { range } }],
  }
}

function entryIn(results: readonly OperationResult[]): KeyValue | undefined {
  const [result] = results
  return result?.type === 'range' ? result.response.entries[0] : undefined
}

/** Leases of entries that expire. One is shared by what is written within a minute, as each costs
 *  etcd more than an entry. */
class Leases {
  readonly #client: Client
  readonly #clock: Clock
  #current: { readonly id: bigint; readonly seconds: number; readonly untilMs: number } | undefined

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  async forSeconds(seconds: number, signal: AbortSignal): Promise<bigint> {
    if (seconds === 0) return 0n
    const nowMs = this.#clock.monotonicMs()
    const current = this.#current
    if (current !== undefined && current.seconds === seconds && nowMs < current.untilMs) {
      return current.id
    }
    const { id } = await this.#client.grantLease(seconds + shareMs / 1000, 0n, signal)
    this.#current = { id, seconds, untilMs: nowMs + shareMs }
    return id
  }
}

const shareMs = 60_000
