import type { WatchResponseMessage } from '../../../lib/etcd/proto/watch-messages.ts'

/** A watch response that says nothing but these fields. */
export function watchResponse(fields: Partial<WatchResponseMessage>): WatchResponseMessage {
  return {
    header: undefined,
    watchId: 0n,
    created: false,
    canceled: false,
    compactRevision: 0,
    cancelReason: '',
    fragment: false,
    events: [],
    ...fields,
  }
}
