/** Calls that attackers send to etcd's API: the path of each, and the bytes of its body. */

import { keyFromText } from '../../../lib/base/keys.ts'
import { rangeCodec } from '../../../lib/etcd/proto/kv-messages.ts'
import {
  type WatchCreateMessage,
  watchRequestCodec,
} from '../../../lib/etcd/proto/watch-messages.ts'
import { framed } from '../etcd/bare-grpc.ts'

export type EtcdBody =
  | {
      readonly type: 'creates'
      readonly count: number
      readonly startRevision: number
      /** So many requests for progress after them. */
      readonly progress?: number
    }
  | {
      /** Messages of which so many bytes come, and not the last ones. */
      readonly type: 'unfinished'
      readonly path: string
      readonly bytes: number
    }
  | { readonly type: 'range'; readonly key: string; readonly end: string }

export function pathOf(body: EtcdBody): string {
  if (body.type === 'unfinished') return body.path
  return body.type === 'creates' ? '/etcdserverpb.Watch/Watch' : '/etcdserverpb.KV/Range'
}

export function bytesOf(body: EtcdBody): Buffer {
  switch (body.type) {
    case 'creates': {
      const create = framed(
        watchRequestCodec.encode({
          request: { type: 'create', value: { ...plain, startRevision: body.startRevision } },
        }),
      )
      const progress = framed(
        watchRequestCodec.encode({ request: { type: 'progress', value: {} } }),
      )
      return Buffer.concat([
        ...Array.from({ length: body.count }, () => create),
        ...Array.from({ length: body.progress ?? 0 }, () => progress),
      ])
    }
    case 'unfinished': {
      const bytes = framed(Buffer.alloc(body.bytes))
      bytes.writeUInt32BE(body.bytes + 1, 1)
      return bytes
    }
    case 'range': {
      const [key, rangeEnd] = [keyFromText(body.key), keyFromText(body.end)]
      return framed(rangeCodec.encode({ ...rangeCodec.decode(Buffer.alloc(0)), key, rangeEnd }))
    }
  }
}

const plain: WatchCreateMessage = {
  key: keyFromText('/a'),
  rangeEnd: keyFromText(''),
  startRevision: 0,
  progressNotify: false,
  filters: [],
  previous: false,
  watchId: 0n,
  fragment: false,
}
