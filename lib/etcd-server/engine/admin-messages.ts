/** The messages of etcd's Lease, Cluster and Auth services that only a server of its API reads or
 *  writes: our client has no use for them. */

import type { Key } from '@watchglass/base'
import {
  bigint,
  biguint,
  bool,
  type Codec,
  embedded,
  headerCodec,
  type HeaderMessage,
  int,
  leaseIdCodec,
  type LeaseIdMessage,
  message,
  repeated,
  repeatedKey,
  repeatedText,
  text,
} from '@watchglass/etcd'

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
