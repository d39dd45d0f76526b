/** The rights of limited names on leases. A lease is its grantor's: others neither end it nor keep
 *  it alive, give it no keys, and are not told of it. Only one whose keys may all be written by a
 *  name is open to it, too, but for its end: between our question and the end others may give it
 *  keys. */

import {
  CacheError,
  isStepDue,
  Slice,
  type SliceClock,
  wireBytes,
  WireReader,
} from '@watchglass/base'
import { leaseIdCodec } from '@watchglass/etcd'
import {
  type LeaseTimeToLiveResponseMessage,
  leaseTimeToLiveCodec,
  leaseTimeToLiveResponseCodec,
} from '../engine/admin-messages.ts'
import { callEtcd } from '../pass/etcd-call.ts'
import type { EtcdSessions } from '../pass/etcd-sessions.ts'
import { isLeaseOf } from './lease-owners.ts'
import type { Rights } from './rights.ts'

export const timeToLivePath = '/etcdserverpb.Lease/LeaseTimeToLive'
export const leasesPath = '/etcdserverpb.Lease/LeaseLeases'

/** The field of an answer to `LeaseLeases` that has one lease. */
const leaseField = 2

/** Leases of others that one transaction may name: etcd is asked about each. */
const askedMax = 16

export class Leases {
  readonly #sessions: EtcdSessions
  readonly #clock: SliceClock

  constructor(sessions: EtcdSessions, clock: SliceClock) {
    this.#sessions = sessions
    this.#clock = clock
  }

  /** Whether a name may give keys to the lease, keep it alive and see when it ends. Of one that
   *  is not there etcd says so itself. */
  async mayUse(rights: Rights, id: bigint): Promise<boolean> {
    if (isLeaseOf(rights.name, id)) return true
    const { ttl, grantedTtl, keys } = await this.#ask(id)
    const isThere = ttl >= 0 || grantedTtl > 0
    return !isThere || (keys.length > 0 && rights.mayWriteKeys(keys))
  }

  /** Whether the name may use all of these leases; 0 is none. */
  async mayUseAll(rights: Rights, ids: Iterable<bigint>): Promise<boolean> {
    const others = [...new Set(ids)].filter(id => id !== 0n && !isLeaseOf(rights.name, id))
    if (others.length > askedMax) return false
    for (const id of others) if (!(await this.mayUse(rights, id))) return false
    return true
  }

  /** Whether a name may end the lease, with its keys: those of others, whom the owner may have let
   *  use it, keep it. */
  async mayRevoke(rights: Rights, id: bigint): Promise<boolean> {
    return isLeaseOf(rights.name, id) && rights.mayWriteKeys((await this.#ask(id)).keys)
  }

  /** etcd's answer to `LeaseLeases`, with the name's own leases only. There may be hundreds of
   *  thousands, and each is told by a hash: it gives way in between. */
  async own({ name }: Rights, request: Buffer): Promise<Buffer> {
    const answer = await callEtcd(this.#sessions, leasesPath, request)
    const slice = new Slice(this.#clock)
    const reader = new WireReader()
    reader.reset(answer, 0, answer.length)
    const kept: Buffer[] = []
    for (let start = 0; reader.nextField(); start = reader.at) {
      const isLease = reader.field === leaseField && reader.wire === wireBytes
      if (!reader.skip()) break
      const isOwn = (): boolean => {
        const { id } = leaseIdCodec.decode(answer.subarray(reader.start, reader.at))
        return isLeaseOf(name, id)
      }
      if (!isLease || isOwn()) kept.push(answer.subarray(start, reader.at))
      if (isStepDue()) await slice.giveWay()
    }
    if (reader.isMalformed) {
      throw new CacheError('source_failed', 'etcd has answered with leases that cannot be read')
    }
    return Buffer.concat(kept)
  }

  async #ask(id: bigint): Promise<LeaseTimeToLiveResponseMessage> {
    const question = leaseTimeToLiveCodec.encode({ id, keys: true })
    const answer = await callEtcd(this.#sessions, timeToLivePath, question)
    return leaseTimeToLiveResponseCodec.decode(answer)
  }
}
