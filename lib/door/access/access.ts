/** Limits certificates to prefixes (`--etcd-listen-allow`). Only calls whose keys are known are
 *  let through, and their requests are written anew, so that etcd does nothing that was not
 *  checked. */

import { randomBytes } from 'node:crypto'
import { CacheError } from '../../base/errors.ts'
import {
  leaseGrantCodec,
  leaseIdCodec,
  leaseTimeToLiveCodec,
  leaseTimeToLiveResponseCodec,
} from '../../etcd/proto/admin-messages.ts'
import type { Codec } from '../../etcd/proto/codec.ts'
import { EtcdError } from '../../etcd/proto/failures.ts'
import {
  compactionCodec,
  deleteRangeCodec,
  putCodec,
  rangeCodec,
  txnCodec,
} from '../../etcd/proto/kv-messages.ts'
import type { GrpcCall } from '../listen/grpc-call.ts'
import { callEtcd } from '../pass/etcd-call.ts'
import type { EtcdSessions } from '../pass/etcd-sessions.ts'
import { type AllowedPrefixes, Rights } from './rights.ts'

/** By the common name of a certificate. */
export type AccessRules = ReadonlyMap<string, AllowedPrefixes>

/** Checks the request of a call; the bytes that may go on. Fails with `unauthorized`. */
type Check = (rights: Rights, bytes: Buffer) => Promise<Buffer> | Buffer

/** Calls that concern no keys. */
const openPaths = new Set([
  '/etcdserverpb.Lease/LeaseKeepAlive',
  '/etcdserverpb.Lease/LeaseLeases',
  '/etcdserverpb.Cluster/MemberList',
  '/etcdserverpb.Maintenance/Status',
  '/etcdserverpb.Auth/AuthStatus',
  '/etcdserverpb.Auth/Authenticate',
])

/** Leases that are remembered of each name. */
const leasesMax = 10_000

const timeToLivePath = '/etcdserverpb.Lease/LeaseTimeToLive'

export class Access {
  readonly #rights: ReadonlyMap<string, Rights> | undefined
  readonly #checks: ReadonlyMap<string, Check>

  /** Everybody may do everything if there are no rules. */
  constructor(rules: AccessRules | undefined, sessions: EtcdSessions) {
    this.#rights =
      rules && new Map([...rules].map(([name, prefixes]) => [name, new Rights(prefixes)]))
    this.#checks = new Map<string, Check>([
      ['/etcdserverpb.KV/Range', checked(rangeCodec, (rights, one) => rights.mayRange(one))],
      ['/etcdserverpb.KV/Put', checked(putCodec, (rights, one) => rights.mayPut(one))],
      [
        '/etcdserverpb.KV/DeleteRange',
        checked(deleteRangeCodec, (rights, one) => rights.mayDelete(one)),
      ],
      ['/etcdserverpb.KV/Txn', checked(txnCodec, (rights, one) => rights.mayTxn(one))],
      // As with etcd's own roles, a compaction needs no right of its own.
      ['/etcdserverpb.KV/Compact', checked(compactionCodec, rights => rights.canWrite)],
      [timeToLivePath, checked(leaseTimeToLiveCodec, (_rights, { keys }) => !keys)],
      ['/etcdserverpb.Lease/LeaseGrant', noteGrant],
      ['/etcdserverpb.Lease/LeaseRevoke', (rights, bytes) => checkRevoke(sessions, rights, bytes)],
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

  /** The check of a call; fails with `unauthorized` for calls that limited names cannot make. */
  checkOf(path: string): Check {
    const check = this.#checks.get(path)
    if (check === undefined) throw new EtcdError('permissionDenied')
    return check
  }
}

function checked<Request>(
  codec: Codec<Request>,
  may: (rights: Rights, request: Request) => boolean,
): Check {
  return (rights, bytes) => {
    const request = codec.decode(bytes)
    if (!may(rights, request)) throw new EtcdError('permissionDenied')
    return codec.encode(request, bytes.length)
  }
}

/** The newest leases that a name was granted here, with numbers that were chosen here: nobody
 *  else can have had them. */
const granted = new WeakMap<Rights, Set<bigint>>()

/** Chooses the number of a lease, if the client leaves that to etcd, so that it is known whose
 *  the lease is. */
function noteGrant(rights: Rights, bytes: Buffer): Buffer {
  const request = leaseGrantCodec.decode(bytes)
  if (request.id !== 0n) return leaseGrantCodec.encode(request)
  const id = BigInt.asUintN(63, randomBytes(8).readBigUInt64BE())
  const own = granted.get(rights) ?? new Set()
  granted.set(rights, own.add(id))
  const [oldest] = own
  if (own.size > leasesMax && oldest !== undefined) own.delete(oldest)
  return leaseGrantCodec.encode({ ...request, id })
}

/** A lease that is revoked takes its keys with it, and others may give it keys between the
 *  question and the revocation: so one without keys is revoked only by whom it was granted to. */
async function checkRevoke(sessions: EtcdSessions, rights: Rights, bytes: Buffer): Promise<Buffer> {
  const { id } = leaseIdCodec.decode(bytes)
  const question = leaseTimeToLiveCodec.encode({ id, keys: true })
  const answer = await callEtcd(sessions, timeToLivePath, question)
  const { keys } = leaseTimeToLiveResponseCodec.decode(answer)
  const isOwn = granted.get(rights)?.has(id) === true
  const may = keys.length === 0 ? isOwn : rights.mayWriteKeys(keys)
  if (!may) throw new EtcdError('permissionDenied')
  return leaseIdCodec.encode({ id })
}

/** What a limited name is told of a call whose request cannot be checked. */
export function uncheckable(): CacheError {
  return new CacheError('unsupported', 'watchglass: this request cannot be checked for its keys')
}
