/** The counters of a replica, and the names of etcd's calls, so that no text of a client becomes a
 *  label. */

import type { WatcherRoom } from './engine/watches/batch-source.ts'
import type { GrpcCall } from './listen/grpc-call.ts'

export interface CallMetrics {
  /** A call has ended: who answered (mirror, etcd, none), with which status of gRPC. */
  call(method: string, source: string, status: string): void
  /** Counts watchers that were opened, or closed if the number is negative. */
  addWatchers(count: number): void
}

/** A room for watchers that also counts them. */
export function countedRoom(room: WatcherRoom, metrics: CallMetrics): WatcherRoom {
  return {
    take(count) {
      const isTaken = room.take(count)
      if (isTaken) metrics.addWatchers(count)
      return isTaken
    },
    give(count) {
      room.give(count)
      metrics.addWatchers(-count)
    },
  }
}

/** Counts a call when it ends. */
export function countCall(call: GrpcCall, metrics: CallMetrics): void {
  call.onClose(() => {
    const { statusCode, source = 'none' } = call
    metrics.call(methodName(call.path), source, statusCode === undefined ? 'left' : `${statusCode}`)
  })
}

const methods: Readonly<Record<string, readonly string[]>> = {
  'etcdserverpb.KV': ['Range', 'RangeStream', 'Put', 'DeleteRange', 'Txn', 'Compact'],
  'etcdserverpb.Watch': ['Watch'],
  'etcdserverpb.Lease': [
    'LeaseGrant',
    'LeaseRevoke',
    'LeaseKeepAlive',
    'LeaseTimeToLive',
    'LeaseLeases',
  ],
  'etcdserverpb.Cluster': [
    'MemberAdd',
    'MemberRemove',
    'MemberUpdate',
    'MemberList',
    'MemberPromote',
  ],
  'etcdserverpb.Maintenance': [
    'Alarm',
    'Status',
    'Defragment',
    'Hash',
    'HashKV',
    'Snapshot',
    'MoveLeader',
    'Downgrade',
  ],
  'v3lockpb.Lock': ['Lock', 'Unlock'],
  'v3electionpb.Election': ['Campaign', 'Proclaim', 'Leader', 'Observe', 'Resign'],
}

const known = new Map(
  Object.entries(methods).flatMap(([service, names]) =>
    names.map((name): [string, string] => [`/${service}/${name}`, name]),
  ),
)

/** The name of a call of etcd's; users and roles are one name, whatever else there is another. */
function methodName(path: string): string {
  return known.get(path) ?? (path.startsWith('/etcdserverpb.Auth/') ? 'Auth' : 'other')
}
