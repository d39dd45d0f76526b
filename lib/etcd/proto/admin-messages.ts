/** The messages of etcd's Lease, Maintenance and Auth services, as far as our client speaks them.
 *  Those that only a server speaks are in lib/etcd-server/engine/admin-messages.ts. */

import {
  bigint,
  biguint,
  bool,
  type Codec,
  embedded,
  int,
  message,
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
