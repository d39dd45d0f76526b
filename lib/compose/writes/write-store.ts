/** Writes of the API by transactions against etcd: each compares the revision of its key. */

import { randomInt, randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { singleKey } from '../../base/keys.ts'
import type { Revision } from '../../base/revision.ts'
import type { Client, OperationResult, TxnRequest } from '../../etcd/client.ts'
import type { GeneratedValues, WriteServices } from '../../kube/write/operations/session.ts'
import type { ServiceAllocator } from '../../kube/write/strategies/row.ts'
import type { Commit, WriteChange, WriteStore } from '../../kube/write/write-store.ts'
import type { KeyValue } from '../../store/event.ts'
import type { ServiceOptions } from '../service-options.ts'

/** What generated names end with: no vowels, so that they spell nothing. */
const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789'
const suffixLength = 5

export function createWriteServices(
  { client, generated = createGenerated() }: Pick<ServiceOptions, 'client' | 'generated'>,
  clock: Clock,
): WriteServices {
  return {
    ...generated,
    store: createWriteStore(client, clock),
    wallMs: () => clock.wallMs(),
  }
}

function createGenerated(): GeneratedValues {
  return {
    uid: () => randomUUID(),
    nameSuffix: () =>
      Array.from(
        { length: suffixLength },
        () => suffixLetters[randomInt(suffixLetters.length)],
      ).join(''),
    allocator: createAllocator(),
  }
}

/** Addresses of Services out of 10.96.0.0/12, as kubeadm has it, and ports of nodes. Both begin at random places and count up from there, so
 *  that a restart hardly ever gives out again what is in use. */
function createAllocator(): ServiceAllocator {
  const [addresses, ports] = [2 ** 20 - 2, 2768]
  let [address, port] = [randomInt(addresses), randomInt(ports)]
  return {
    address() {
      address = (address + 1) % addresses
      const place = address + 1
      return `10.${96 + (place >> 16)}.${(place >> 8) & 0xff}.${place & 0xff}`
    },
    port() {
      port = (port + 1) % ports
      return 30_000 + port
    },
  }
}

function createWriteStore(client: Client, clock: Clock): WriteStore {
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
      const { succeeded, header, results } = await client.txn(txnOf(change, lease), signal)
      if (succeeded) return { type: 'done', revision: header.revision }
      return { type: 'changed', current: entryIn(results) }
    },
  }
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

/** Leases of entries that expire. One is shared by what is written within a minute, as each costs etcd more than an entry. */
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
