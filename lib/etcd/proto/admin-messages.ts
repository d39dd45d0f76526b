/** The messages of etcd's Lease, Cluster, Maintenance and Auth services, as far as they are spoken
 *  here. */

import type { Key } from '../../base/keys.ts'
import {
  bigint,
  biguint,
  bool,
  type Codec,
  embedded,
  int,
  message,
  repeated,
  repeatedKey,
  repeatedText,
  text,
} from './codec.ts'
import { type HeaderMessage, headerCodec } from './kv-messages.ts'

/** A request without fields. */
export const emptyCodec: Codec<object> = message<object>({})

export interface LeaseGrantMessage {
  readonly ttl: number
  readonly id: bigint
}

export const leaseGrantCodec: Codec<LeaseGrantMessage> = message<LeaseGrantMessage>({
  ttl: int(1),
  id: bigint(2),
})

/** The answer to a grant and to a keep-alive. */
export interface LeaseResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly id: bigint
  readonly ttl: number
}

export const leaseResponseCodec: Codec<LeaseResponseMessage> = message<LeaseResponseMessage>({
  header: embedded(1, headerCodec),
  id: bigint(2),
  ttl: int(3),
})

/** Names one lease: to revoke it, or to keep it alive. */
export interface LeaseIdMessage {
  readonly id: bigint
}

export const leaseIdCodec: Codec<LeaseIdMessage> = message<LeaseIdMessage>({ id: bigint(1) })

export interface LeaseTimeToLiveMessage {
  readonly id: bigint
  readonly keys: boolean
}

export const leaseTimeToLiveCodec: Codec<LeaseTimeToLiveMessage> = message<LeaseTimeToLiveMessage>({
  id: bigint(1),
  keys: bool(2),
})

export interface LeaseTimeToLiveResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly id: bigint
  readonly ttl: number
  readonly grantedTtl: number
  readonly keys: readonly Key[]
}

export const leaseTimeToLiveResponseCodec: Codec<LeaseTimeToLiveResponseMessage> =
  message<LeaseTimeToLiveResponseMessage>({
    header: embedded(1, headerCodec),
    id: bigint(2),
    ttl: int(3),
    grantedTtl: int(4),
    keys: repeatedKey(5),
  })

export interface LeaseLeasesResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly leases: readonly LeaseIdMessage[]
}

export const leaseLeasesResponseCodec: Codec<LeaseLeasesResponseMessage> =
  message<LeaseLeasesResponseMessage>({
    header: embedded(1, headerCodec),
    leases: repeated(2, leaseIdCodec),
  })

export interface MemberMessage {
  readonly id: bigint
  readonly name: string
  readonly peerUrls: readonly string[]
  readonly clientUrls: readonly string[]
  readonly isLearner: boolean
}

const memberCodec = message<MemberMessage>({
  id: biguint(1),
  name: text(2),
  peerUrls: repeatedText(3),
  clientUrls: repeatedText(4),
  isLearner: bool(5),
})

export interface MemberListResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly members: readonly MemberMessage[]
}

export const memberListResponseCodec: Codec<MemberListResponseMessage> =
  message<MemberListResponseMessage>({
    header: embedded(1, headerCodec),
    members: repeated(2, memberCodec),
  })

export interface StatusResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly version: string
  readonly databaseBytes: number
  readonly leader: bigint
  readonly raftIndex: bigint
  readonly raftTerm: bigint
  readonly raftAppliedIndex: bigint
  readonly errors: readonly string[]
  readonly databaseBytesInUse: number
  readonly isLearner: boolean
}

export const statusResponseCodec: Codec<StatusResponseMessage> = message<StatusResponseMessage>({
  header: embedded(1, headerCodec),
  version: text(2),
  databaseBytes: int(3),
  leader: biguint(4),
  raftIndex: biguint(5),
  raftTerm: biguint(6),
  raftAppliedIndex: biguint(7),
  errors: repeatedText(8),
  databaseBytesInUse: int(9),
  isLearner: bool(10),
})

export interface AuthStatusResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly enabled: boolean
  readonly authRevision: bigint
}

export const authStatusResponseCodec: Codec<AuthStatusResponseMessage> =
  message<AuthStatusResponseMessage>({
    header: embedded(1, headerCodec),
    enabled: bool(2),
    authRevision: biguint(3),
  })

export interface AuthenticateMessage {
  readonly name: string
  readonly password: string
}

export const authenticateCodec: Codec<AuthenticateMessage> = message<AuthenticateMessage>({
  name: text(1),
  password: text(2),
})

export interface AuthenticateResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly token: string
}

export const authenticateResponseCodec: Codec<AuthenticateResponseMessage> =
  message<AuthenticateResponseMessage>({ header: embedded(1, headerCodec), token: text(2) })
