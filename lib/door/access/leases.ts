/** The rights of limited names on leases. A lease is its grantor's: others neither end it nor keep
 *  it alive, give it no keys, and are not told of it. Only one whose keys may all be written by a
 *  name is open to it, too, but for its end: between our question and the end others may give it
 *  keys. */

import {
  type LeaseTimeToLiveResponseMessage,
  leaseLeasesResponseCodec,
  leaseTimeToLiveCodec,
  leaseTimeToLiveResponseCodec,
} from '../../etcd/proto/admin-messages.ts'
import { callEtcd } from '../pass/etcd-call.ts'
import type { EtcdSessions } from '../pass/etcd-sessions.ts'
import { isLeaseOf } from './lease-owners.ts'
import type { Rights } from './rights.ts'

export const timeToLivePath = '/etcdserverpb.Lease/LeaseTimeToLive'
export const leasesPath = '/etcdserverpb.Lease/LeaseLeases'

/** Leases of others that one transaction may name: etcd is asked about each. */
const askedMax = 16

export class Leases {
  readonly #sessions: EtcdSessions

  constructor(sessions: EtcdSessions) {
    this.#sessions = sessions
  }

  /** Whether a name may give keys to the lease, keep it alive and see when it ends. Of one that
   *  is not there etcd says so itself. */
  async mayUse(rights: Rights, id: bigint): Promise<boolean> {
    if (isLeaseOf(rights.name, id)) return true
    const { ttl, grantedTtl, keys } = await this.#ask(id)
    const isThere = ttl >= 0 || grantedTtl > 0
    return !isThere || (keys.length > 0 && rights.mayWriteKeys(keys))
  }

  /** The same for all of them; 0 is none. */
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

  /** etcd's answer to `LeaseLeases`, with the name's own leases only. */
  async own(rights: Rights, request: Buffer): Promise<Buffer> {
    const answer = await callEtcd(this.#sessions, leasesPath, request)
    const { header, leases } = leaseLeasesResponseCodec.decode(answer)
    const own = leases.filter(({ id }) => isLeaseOf(rights.name, id))
    return leaseLeasesResponseCodec.encode({ header, leases: own })
  }

  async #ask(id: bigint): Promise<LeaseTimeToLiveResponseMessage> {
    const question = leaseTimeToLiveCodec.encode({ id, keys: true })
    const answer = await callEtcd(this.#sessions, timeToLivePath, question)
    return leaseTimeToLiveResponseCodec.decode(answer)
  }
}
