/** The answers of a member beside reads, writes and watches: leases, the state of the cluster, and
 *  that authentication is off. */

import type { Steps } from '@watchglass/base'
import { noLease } from '@watchglass/store'
import type {
  HeaderMessage,
  HeaderResponseMessage,
  LeaseGrantMessage,
  LeaseIdMessage,
  LeaseResponseMessage,
  StatusResponseMessage,
} from '@watchglass/etcd'
import type {
  AuthStatusResponseMessage,
  LeaseLeasesResponseMessage,
  LeaseTimeToLiveMessage,
  LeaseTimeToLiveResponseMessage,
  MemberListResponseMessage,
} from './admin-messages.ts'
import type { Engine } from './engine.ts'
import { partialHeader } from './kv.ts'
import type { EngineMember, MemberReply } from './member.ts'

/** The answers of one member. */
export class Admin {
  readonly #engine: Engine
  readonly #member: EngineMember

  constructor(engine: Engine, member: EngineMember) {
    this.#engine = engine
    this.#member = member
  }

  grantLease(request: LeaseGrantMessage, reply: MemberReply<LeaseResponseMessage>): void {
    this.#member.decide(reply, () => {
      const { id, ttlSeconds } = this.#engine.grantLease(request.id, request.ttl)
      return { header: partialHeader(this.#engine.revision), id, ttl: ttlSeconds }
    })
  }

  revokeLease(request: LeaseIdMessage, reply: MemberReply<HeaderResponseMessage>): void {
    this.#member.decideInSteps(reply, this.#revoke(request))
  }

  *#revoke({ id }: LeaseIdMessage): Steps<HeaderResponseMessage> {
    yield* this.#engine.revokeLease(id)
    return { header: partialHeader(this.#engine.revision) }
  }

  /** A lease that is not there has a time to live of 0. */
  keepLeaseAlive(request: LeaseIdMessage, reply: MemberReply<LeaseResponseMessage>): void {
    this.#member.decide(reply, () => {
      const lease = this.#engine.renewLease(request.id)
      const header = partialHeader(this.#engine.revision)
      return { header, id: request.id, ttl: lease?.ttlSeconds ?? 0 }
    })
  }

  /** A lease that is not there has a time to live of -1. */
  leaseTimeToLive(
    request: LeaseTimeToLiveMessage,
    reply: MemberReply<LeaseTimeToLiveResponseMessage>,
  ): void {
    this.#member.decide(reply, () => {
      const { id } = request
      const lease = this.#engine.lessor.get(id)
      const header = partialHeader(this.#engine.revision)
      if (lease === undefined) return { header, id, ttl: -1, grantedTtl: 0, keys: [] }
      return {
        header,
        id,
        ttl: this.#engine.lessor.remainingSeconds(lease),
        grantedTtl: lease.ttlSeconds,
        keys: request.keys ? [...lease.keys] : [],
      }
    })
  }

  leases(): LeaseLeasesResponseMessage {
    const leases = this.#engine.lessor.all().filter(({ id }) => id !== noLease)
    return { header: this.#header(), leases: leases.map(({ id }) => ({ id })) }
  }

  members(): MemberListResponseMessage {
    return {
      // A header without a revision, as etcd has it here.
      header: this.#member.header(0),
      members: this.#engine.members.map(({ id, name, endpoint }) => ({
        id,
        name,
        peerUrls: [],
        clientUrls: [endpoint],
        isLearner: false,
      })),
    }
  }

  status(): StatusResponseMessage {
    const { version, bytes, contentBytes, leader, index, raftTerm } = this.#engine
    return {
      header: this.#header(),
      version,
      databaseBytes: bytes,
      leader: leader.id,
      // A cluster has decided who its members are before anything else.
      raftIndex: BigInt(index + 1),
      raftTerm,
      raftAppliedIndex: BigInt(index + 1 - this.#member.lag),
      errors: [],
      databaseBytesInUse: contentBytes,
      isLearner: false,
    }
  }

  authStatus(): AuthStatusResponseMessage {
    return { header: this.#header(), enabled: false, authRevision: 1n }
  }

  alarms(): HeaderResponseMessage {
    return { header: this.#header() }
  }

  #header(): HeaderMessage {
    return this.#member.header(this.#member.revision)
  }
}
