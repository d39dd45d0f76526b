/** Large watch responses come in parts: a client that takes whole ones. */

import type { ResponsePart } from '../../../lib/etcd-server/engine/watches/response-part.ts'
import type { WatchEvent } from '../../../lib/etcd/proto/key-value.ts'
import type { WatchResponseMessage } from '../../../lib/etcd/proto/watch-messages.ts'

/** Takes parts, and hands over each response with its last part. */
export function joinParts(
  send: (response: WatchResponseMessage) => boolean,
): (part: ResponsePart) => boolean {
  let joined: WatchEvent[] = []
  return ({ response, events, isLast }) => {
    joined.push(...events())
    if (!isLast) return true
    const all = joined
    joined = []
    return send({ ...response, events: all })
  }
}
