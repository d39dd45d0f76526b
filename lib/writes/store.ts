/** The part of etcd that writes need, and no more. */

import type { Key, KeyRange } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'

export interface WriteStore {
  /** The newest entry of a key. */
  get(key: Key, signal: AbortSignal): Promise<KeyValue | undefined>
  /** The first entries of a range at one revision; at `revision` if it is given. */
  list(range: KeyRange, options: StoredListRequest, signal: AbortSignal): Promise<StoredPage>
  /** Puts or deletes a key if it has not changed since it was read. */
  commit(change: WriteChange, signal: AbortSignal): Promise<Commit>
}

export interface StoredListRequest {
  readonly limit: number
  readonly revision?: number | undefined
}

export interface StoredPage {
  readonly entries: readonly KeyValue[]
  readonly revision: number
  readonly more: boolean
}

export interface WriteChange {
  readonly key: Key
  /** The mod revision that the key has; 0 if it is not there. */
  readonly expected: number
  /** Undefined: the key is deleted. */
  readonly value: Uint8Array | undefined
  /** The entry is gone after so many seconds; 0 is never. */
  readonly ttlSeconds: number
}

export type Commit =
  | { readonly type: 'done'; readonly revision: number }
  /** The key has changed: this is what it has now. */
  | { readonly type: 'changed'; readonly current: KeyValue | undefined }
