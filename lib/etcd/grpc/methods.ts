/** The calls of etcd's API that the client makes: where they go, and how their messages are written
 *  and read. */

import { SlabWriter } from '@watchglass/store'
import {
  type AuthenticateMessage,
  type AuthenticateResponseMessage,
  type LeaseGrantMessage,
  type LeaseIdMessage,
  type LeaseResponseMessage,
  type StatusResponseMessage,
  authenticateCodec,
  authenticateResponseCodec,
  emptyCodec,
  leaseGrantCodec,
  leaseIdCodec,
  leaseResponseCodec,
  statusResponseCodec,
} from '../proto/admin-messages.ts'
import type { Codec } from '../proto/codec.ts'
import { type PlaceValue, eventCodec, keyValueCodec } from '../proto/key-value.ts'
import {
  type CompactionMessage,
  type HeaderResponseMessage,
  type RangeMessage,
  type RangePartMessage,
  type RangeResponseMessage,
  type TxnMessage,
  type TxnResponseMessage,
  compactionCodec,
  createRangePartCodec,
  createRangeResponseCodec,
  headerResponseCodec,
  rangeCodec,
  txnCodec,
  txnResponseCodec,
} from '../proto/kv-messages.ts'
import {
  type WatchRequestHolder,
  type WatchResponseMessage,
  createWatchResponseCodec,
  watchRequestCodec,
} from '../proto/watch-messages.ts'

export interface Method<Request, Response> {
  readonly path: string
  readonly request: Codec<Request>
  readonly response: Codec<Response>
}

export const txnMethod: Method<TxnMessage, TxnResponseMessage> = {
  path: '/etcdserverpb.KV/Txn',
  request: txnCodec,
  response: txnResponseCodec,
}

export const compactMethod: Method<CompactionMessage, HeaderResponseMessage> = {
  path: '/etcdserverpb.KV/Compact',
  request: compactionCodec,
  response: headerResponseCodec,
}

export const leaseGrantMethod: Method<LeaseGrantMessage, LeaseResponseMessage> = {
  path: '/etcdserverpb.Lease/LeaseGrant',
  request: leaseGrantCodec,
  response: leaseResponseCodec,
}

export const leaseRevokeMethod: Method<LeaseIdMessage, HeaderResponseMessage> = {
  path: '/etcdserverpb.Lease/LeaseRevoke',
  request: leaseIdCodec,
  response: headerResponseCodec,
}

/** A stream in etcd's API, on which one request is answered by one response. */
export const leaseKeepAliveMethod: Method<LeaseIdMessage, LeaseResponseMessage> = {
  path: '/etcdserverpb.Lease/LeaseKeepAlive',
  request: leaseIdCodec,
  response: leaseResponseCodec,
}

export const statusMethod: Method<object, StatusResponseMessage> = {
  path: '/etcdserverpb.Maintenance/Status',
  request: emptyCodec,
  response: statusResponseCodec,
}

export const authenticateMethod: Method<AuthenticateMessage, AuthenticateResponseMessage> = {
  path: '/etcdserverpb.Auth/Authenticate',
  request: authenticateCodec,
  response: authenticateResponseCodec,
}

/** A range whose values are copied into slabs: one that is kept must not pin the page that it came
 *  in. */
export function createRangeMethod(): Method<RangeMessage, RangeResponseMessage> {
  return {
    path: '/etcdserverpb.KV/Range',
    request: rangeCodec,
    response: createRangeResponseCodec(keyValueCodec(placeInSlabs())),
  }
}

/** A range in parts, with values copied into slabs likewise. */
export function createRangePartsMethod(): Method<RangeMessage, RangePartMessage> {
  return {
    path: '/etcdserverpb.KV/RangeStream',
    request: rangeCodec,
    response: createRangePartCodec(keyValueCodec(placeInSlabs())),
  }
}

/** The watch stream, with values copied into slabs likewise. */
export function createWatchMethod(): Method<WatchRequestHolder, WatchResponseMessage> {
  return {
    path: '/etcdserverpb.Watch/Watch',
    request: watchRequestCodec,
    response: createWatchResponseCodec(eventCodec(placeInSlabs())),
  }
}

function placeInSlabs(): PlaceValue {
  const slabs = new SlabWriter()
  return (bytes, start, end) => slabs.copy(bytes, start, end)
}
