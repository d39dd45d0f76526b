/** Limits certificates to prefixes (`--etcd-listen-allow`). Only calls whose keys are known are
 *  let through, and their requests are written anew, so that etcd does nothing that was not
 *  checked. */

import { CacheError, type SliceClock } from '@watchglass/base'
import {
  type Codec,
  compactionCodec,
  deleteRangeCodec,
  emptyCodec,
  EtcdError,
  leaseGrantCodec,
  leaseIdCodec,
  putCodec,
  rangeCodec,
  txnCodec,
} from '@watchglass/etcd'
import { leaseTimeToLiveCodec } from '../engine/admin-messages.ts'
import type { GrpcCall } from '../listen/grpc-call.ts'
import type { EtcdSessions } from '../pass/etcd-sessions.ts'
import { newLeaseOf } from './lease-owners.ts'
import { Leases, leasesPath, timeToLivePath } from './leases.ts'
import { type AllowedPrefixes, leasesOfTxn, Rights } from './rights.ts'

/** By the common name of a certificate. */
export type AccessRules = ReadonlyMap<string, AllowedPrefixes>

/** Checks the request of a call; the bytes that may go on. Fails with `unauthorized`. */
export type Check = (rights: Rights, bytes: Buffer) => Promise<Buffer> | Buffer

/** Calls that concern no keys. */
const openPaths = new Set([
  '/etcdserverpb.Cluster/MemberList',
  '/etcdserverpb.Maintenance/Status',
  '/etcdserverpb.Auth/AuthStatus',
  '/etcdserverpb.Auth/Authenticate',
])

export class Access {
  readonly #rights: ReadonlyMap<string, Rights> | undefined
  readonly #checks: ReadonlyMap<string, Check>
  readonly #leases: Leases

  /** Everybody may do everything if there are no rules. */
  constructor(rules: AccessRules | undefined, sessions: EtcdSessions, clock: SliceClock) {
    this.#rights =
      rules && new Map([...rules].map(([name, prefixes]) => [name, new Rights(name, prefixes)]))
    const leases = new Leases(sessions, clock)
    this.#leases = leases
    const range = checked(rangeCodec, (rights, one) => rights.mayRange(one))
    this.#checks = new Map<string, Check>([
      ['/etcdserverpb.KV/Range', range],
      ['/etcdserverpb.KV/RangeStream', range],
      [
        '/etcdserverpb.KV/Put',
        checked(
          putCodec,
          (rights, one) => rights.mayPut(one) && leases.mayUseAll(rights, [one.lease]),
        ),
      ],
      [
        '/etcdserverpb.KV/DeleteRange',
        checked(deleteRangeCodec, (rights, one) => rights.mayDelete(one)),
      ],
      [
        '/etcdserverpb.KV/Txn',
        checked(
          txnCodec,
          (rights, one) => rights.mayTxn(one) && leases.mayUseAll(rights, leasesOfTxn(one)),
        ),
      ],
      // As with etcd's own roles, a compaction needs no right of its own.
      ['/etcdserverpb.KV/Compact', checked(compactionCodec, rights => rights.canWrite)],
      ['/etcdserverpb.Lease/LeaseGrant', numberGrant],
      [
        '/etcdserverpb.Lease/LeaseRevoke',
        checked(leaseIdCodec, (rights, { id }) => leases.mayRevoke(rights, id)),
      ],
      [
        timeToLivePath,
        checked(leaseTimeToLiveCodec, (rights, { id, keys }) => !keys && leases.mayUse(rights, id)),
      ],
      [leasesPath, checked(emptyCodec, () => true)],
    ])
  }

  /** The rights of the caller; `undefined` if there are no limits. Fails with `unauthorized` for
   *  one without any. */
  rightsOf(call: GrpcCall): Rights | undefined {
    if (this.#rights === undefined) return undefined
    const rights = this.#rights.get(call.certificateName ?? '')
    if (rights === undefined) throw new EtcdError('permissionDenied')
    return rights
  }

  /** True for a call that any name with rights may make. */
  isOpen(path: string): boolean {
    return openPaths.has(path)
  }

  /** Whether a name may keep the lease alive that a request names. */
  async mayKeepAlive(rights: Rights, bytes: Buffer): Promise<boolean> {
    return this.#leases.mayUse(rights, leaseIdCodec.decode(bytes).id)
  }

  /** The leases that a name is told of, as an answer to `LeaseLeases`. */
  ownLeases(rights: Rights, bytes: Buffer): Promise<Buffer> {
    return this.#leases.own(rights, bytes)
  }

  /** The check of a call; fails with `unauthorized` for calls that limited names cannot make. */
  checkOf(path: string): Check {
    const check = this.#checks.get(path)
    if (check === undefined) throw new EtcdError('permissionDenied')
    return check
  }
}

function checked<Request>(
  codec: Codec<Request>,
  may: (rights: Rights, request: Request) => boolean | Promise<boolean>,
): Check {
  return async (rights, bytes) => {
    const request = codec.decode(bytes)
    if (!(await may(rights, request))) throw new EtcdError('permissionDenied')
    return codec.encode(request, bytes.length)
  }
}

/** Chooses the number of a lease, so that it is known whose the lease is. One that the client
 *  chooses may be anybody's, now or later. */
function numberGrant(rights: Rights, bytes: Buffer): Buffer {
  const request = leaseGrantCodec.decode(bytes)
  if (request.id !== 0n) throw new EtcdError('permissionDenied')
  return leaseGrantCodec.encode({ ...request, id: newLeaseOf(rights.name) })
}

/** The refusal of a limited name's call whose request cannot be checked. */
export function uncheckable(): CacheError {
  return new CacheError('unsupported', 'watchglass: this request cannot be checked for its keys')
}
