/** Calls of etcd's API as bytes: messages with odd values, then changed here and there, framed as
 *  they should be or not. */

import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import type { Random } from '../../../lib/base/random.ts'
import { leaseGrantCodec, leaseIdCodec } from '../../../lib/etcd/proto/admin-messages.ts'
import { leaseTimeToLiveCodec } from '../../../lib/etcd-server/engine/admin-messages.ts'
import {
  compactionCodec,
  type CompareMessage,
  deleteRangeCodec,
  type DeleteRangeMessage,
  type OperationHolder,
  putCodec,
  type PutMessage,
  rangeCodec,
  type RangeMessage,
  txnCodec,
  type TxnMessage,
} from '../../../lib/etcd/proto/kv-messages.ts'
import {
  watchRequestCodec,
  type WatchRequestMessage,
} from '../../../lib/etcd/proto/watch-messages.ts'
import { framed } from '../etcd/bare-grpc.ts'
import { createGrammar } from './grammar.ts'

export interface EtcdCall {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The body, as it is written. */
  readonly pieces: readonly Buffer[]
  /** The call may go on after its last request. */
  readonly isStream: boolean
}

/** The value of keys that may not be read with limited rights. */
export const secretText = 'the-secret-of-others'
export const openKeys: readonly string[] = ['/a/0']
export const secretKeys: readonly string[] = ['/s/0', '/b', '/', '\u0000', '/z']

const someKeys =
  '|\0|/|/a|/a/0|/a/1|/a/|/a0|/b|/r|/r/0|/s|/s/0|/z|\u00ff|\u00ff\u00ff|/a/\0|/a/\u00ff'
const keys = [...someKeys.split('|'), 'k'.repeat(2_000)].map(keyFromText)
const numbers = [0, 0, 0, 1, 2, 3, 10, -1, 100, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, -(2 ** 53 - 1)]
const ids = [0n, 0n, 0n, 1n, 7n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 7587848390000000000n]
const values = ['', 'x', '{}', '\u0000', 'v'.repeat(5_000)].map(text => Buffer.from(text))

/** Types that a field may be sent as: those of protobuf, and two that it has not. */
const wireTypes = [0, 1, 2, 3, 4, 5, 6, 7]

interface Made {
  readonly path: string
  readonly messages: readonly Buffer[]
  readonly isStream?: boolean
}

export function etcdCall(random: Random): EtcdCall {
  const grammar = createGrammar(random)
  const below = (count: number): number => Math.floor(random.next() * count)
  const one = <T>(all: readonly T[]): T => all[below(all.length)]!
  const { path, messages, isStream = false } = made(below, one)
  const bytes = messages.map(message => {
    const changed = grammar.changed(withUnknown(message, below, one))
    return framed(changed, below(30) === 0 ? one([1, 2, 255]) : 0)
  })
  const whole = below(4) === 0 ? grammar.changed(Buffer.concat(bytes)) : Buffer.concat(bytes)
  const isElsewhere = below(60) === 0
  return {
    path: isElsewhere ? one(paths) : path,
    headers: {
      'content-type':
        below(60) === 0 ? one(['application/json', 'application/grpc+x', '']) : 'application/grpc',
      te: 'trailers',
      ...(below(20) === 0 ? one(oddHeaders) : {}),
    },
    pieces: cut(whole, below),
    isStream: isStream && !isElsewhere,
  }
}

const paths = [
  '/',
  '/etcdserverpb.KV/',
  '/etcdserverpb.KV/Nothing',
  '/etcdserverpb.Maintenance/Snapshot',
  '/etcdserverpb.Maintenance/Hash',
  '/etcdserverpb.Maintenance/HashKV',
  '/etcdserverpb.Maintenance/Defragment',
  '/etcdserverpb.Maintenance/MoveLeader',
  '/etcdserverpb.Cluster/MemberAdd',
  '/etcdserverpb.Cluster/MemberRemove',
  '/etcdserverpb.Auth/AuthEnable',
  '/v3lockpb.Lock/Lock',
  '/v3electionpb.Election/Campaign',
  '/grpc.health.v1.Health/Check',
  '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
  '/constructor/__proto__',
]
const oddHeaders: readonly Readonly<Record<string, string>>[] = [
  { 'grpc-timeout': '1n' },
  { 'grpc-timeout': '99999999H' },
  { 'grpc-timeout': 'x' },
  { 'grpc-encoding': 'gzip' },
  { 'grpc-accept-encoding': 'gzip' },
  { hasleader: 'true' },
  { token: 'x' },
  { authorization: 'Bearer x' },
  { 'x-bin': '////' },
  { 'user-agent': 'etcdctl' },
]

type Below = (count: number) => number
type One = <T>(all: readonly T[]) => T

function made(below: Below, one: One): Made {
  const key = (): Key => one(keys)
  const flag = (): boolean => below(4) === 0
  const number = (): number => one(numbers)
  const range = (): RangeMessage => ({
    key: key(),
    rangeEnd: key(),
    limit: number(),
    revision: below(2) === 0 ? 0 : number(),
    sortOrder: below(3) === 0 ? number() : 0,
    sortTarget: below(3) === 0 ? below(6) : 0,
    serializable: flag(),
    keysOnly: flag(),
    countOnly: flag(),
    minModRevision: below(4) === 0 ? number() : 0,
    maxModRevision: below(4) === 0 ? number() : 0,
    minCreateRevision: below(4) === 0 ? number() : 0,
    maxCreateRevision: below(4) === 0 ? number() : 0,
  })
  const put = (): PutMessage => ({
    key: key(),
    value: one(values),
    lease: below(3) === 0 ? one(ids) : 0n,
    previous: flag(),
    ignoreValue: flag(),
    ignoreLease: flag(),
  })
  const deleteRange = (): DeleteRangeMessage => ({
    key: key(),
    rangeEnd: below(3) === 0 ? key() : keyFromText(''),
    previous: flag(),
  })
  const compare = (): CompareMessage => ({
    result: below(5),
    target: below(6),
    key: key(),
    version: number(),
    createRevision: number(),
    modRevision: number(),
    value: one(values),
    lease: one(ids),
    rangeEnd: below(3) === 0 ? key() : keyFromText(''),
  })
  const some = <T>(most: number, item: () => T): T[] =>
    Array.from({ length: below(most + 1) }, item)
  const operation = (depth: number): OperationHolder => {
    switch (below(depth > 6 ? 4 : 6)) {
      case 0:
        return { operation: undefined }
      case 1:
        return { operation: { type: 'range', value: range() } }
      case 2:
        return { operation: { type: 'put', value: put() } }
      case 3:
        return { operation: { type: 'deleteRange', value: deleteRange() } }
      default:
        return { operation: { type: 'txn', value: txn(depth + 1) } }
    }
  }
  const txn = (depth: number): TxnMessage => ({
    compare: some(2, compare),
    success: some(2, () => operation(depth)),
    failure: some(2, () => operation(depth)),
  })
  const watch = (): WatchRequestMessage => {
    if (below(5) === 0) return { type: 'cancel', value: { watchId: one(ids) } }
    if (below(5) === 0) return { type: 'progress', value: {} }
    const value = {
      key: key(),
      rangeEnd: key(),
      startRevision: number(),
      progressNotify: flag(),
      filters: some(3, number),
      previous: flag(),
      watchId: one(ids),
      fragment: flag(),
    }
    return { type: 'create', value }
  }
  const calls: readonly (() => Made)[] = [
    () => ({ path: 'KV/Range', messages: [rangeCodec.encode(range())] }),
    () => ({ path: 'KV/Put', messages: [putCodec.encode(put())] }),
    () => ({ path: 'KV/DeleteRange', messages: [deleteRangeCodec.encode(deleteRange())] }),
    () => ({ path: 'KV/Txn', messages: [txnCodec.encode(txn(0))] }),
    () => ({ path: 'KV/Txn', messages: [txnCodec.encode(txn(0)), putCodec.encode(put())] }),
    () => ({
      path: 'KV/Compact',
      messages: [compactionCodec.encode({ revision: number(), physical: flag() })],
    }),
    () => ({
      path: 'Lease/LeaseGrant',
      messages: [leaseGrantCodec.encode({ ttl: number(), id: one(ids) })],
    }),
    () => ({ path: 'Lease/LeaseRevoke', messages: [leaseIdCodec.encode({ id: one(ids) })] }),
    () => ({
      path: 'Lease/LeaseTimeToLive',
      messages: [leaseTimeToLiveCodec.encode({ id: one(ids), keys: flag() })],
    }),
    () => ({
      path: one(['Lease/LeaseLeases', 'Maintenance/Status', 'Cluster/MemberList']),
      messages: [Buffer.alloc(0)],
    }),
    () => ({
      path: 'Lease/LeaseKeepAlive',
      messages: some(4, () => leaseIdCodec.encode({ id: one(ids) })),
      isStream: true,
    }),
    () => ({
      path: 'Watch/Watch',
      messages: some(6, () => watchRequestCodec.encode({ request: watch() })),
      isStream: true,
    }),
  ]
  const { path, ...others } = one(calls)()
  return { path: `/etcdserverpb.${path}`, ...others }
}

/** The message, at times with a field that it does not have, or has in another type. */
function withUnknown(message: Buffer, below: Below, one: One): Buffer {
  if (below(6) > 0) return message
  const tag = Buffer.from([(below(16) << 3) | one(wireTypes)])
  const more = Buffer.from(Array.from({ length: below(12) }, () => below(256)))
  const field = Buffer.concat([tag, more])
  return Buffer.concat(below(2) === 0 ? [field, message] : [message, field])
}

/** The same bytes in one piece or some. */
function cut(bytes: Buffer, below: Below): Buffer[] {
  if (below(3) > 0 || bytes.length === 0) return [bytes]
  const at = below(bytes.length)
  return [bytes.subarray(0, at), ...cut(bytes.subarray(at), count => below(count))]
}
