/** A store whose operations are timed, for metrics. */

import type { Clock, Key } from '@watchglass/base'
import type { WriteChange, WriteStore } from '@watchglass/writes'

/** Called when etcd has answered, or has failed to. */
export type OnAsked = (
  operation: 'get' | 'list' | 'create' | 'update' | 'delete',
  key: Key,
  tookMs: number,
) => void

export function timedStore(store: WriteStore, clock: Clock, onAsked: OnAsked): WriteStore {
  async function timed<T>(
    operation: Parameters<OnAsked>[0],
    key: Key,
    answer: Promise<T>,
  ): Promise<T> {
    const startMs = clock.monotonicMs()
    try {
      return await answer
    } finally {
      onAsked(operation, key, clock.monotonicMs() - startMs)
    }
  }
  return {
    get: (key, signal) => timed('get', key, store.get(key, signal)),
    list: (range, options, signal) =>
      timed('list', range.start, store.list(range, options, signal)),
    commit: (change, signal) =>
      timed(operationOf(change), change.key, store.commit(change, signal)),
  }
}

function operationOf({ expected, value }: WriteChange): 'create' | 'update' | 'delete' {
  if (value === undefined) return 'delete'
  return expected === 0 ? 'create' : 'update'
}
