/** The questions of a worker to the thread with the mirrors, and the answers. Records in the
 *  ring are for what all threads must know; messages are for what one asks. */

import { CacheError, type ErrorCode, type KeyRange, type Revision } from '@watchglass/base'
import type {
  Lease,
  OperationResult,
  RangeRequest,
  RangeResponse,
  TxnRequest,
  TxnResponse,
} from '@watchglass/etcd'
import type { RangePage } from '@watchglass/cache'

/** To the thread with the mirrors. */
export type QuestionMessage =
  /** etcd's current revision is needed, for reads that wait. */
  | { readonly type: 'probe'; readonly mirror: number; readonly id: number }
  /** A read waits for a revision of a feed. */
  | { readonly type: 'need'; readonly feed: number; readonly revision: number }
  /** Somebody reads a keyspace that is not mirrored before that. */
  | { readonly type: 'want'; readonly keyspace: string }
  /** Bookmarks of these keyspaces are due. */
  | { readonly type: 'refresh'; readonly keyspaces: readonly string[] }
  /** The ring has room again. */
  | { readonly type: 'room' }
  /** Begins a read of etcd itself. Its pages are asked for one by one. */
  | {
      readonly type: 'read'
      readonly id: number
      readonly keyspace: string
      readonly range: KeyRange
      readonly revision: Revision | undefined
      readonly limit: number | undefined
    }
  | { readonly type: 'next-page'; readonly id: number }
  | { readonly type: 'end-read'; readonly id: number }
  /** A call of etcd. */
  | {
      readonly type: 'call'
      readonly id: number
      readonly client: number
      readonly call: CallMessage
    }
  | { readonly type: 'abandon-call'; readonly id: number }

/** From the thread with the mirrors. */
export type AnswerMessage =
  /** Records lie in the ring. */
  | { readonly type: 'wake' }
  | {
      readonly type: 'probed'
      readonly mirror: number
      readonly id: number
      readonly revision: number
      readonly epoch: number
    }
  /** A probe failed; the next one comes after a pause. */
  | {
      readonly type: 'probe-failed'
      readonly mirror: number
      readonly id: number
      readonly failure: FailureMessage | undefined
      /** The main thread has given up: no read waits for so long. */
      readonly isOver: boolean
    }
  /** A page of a read; undefined after the last one. */
  | { readonly type: 'page'; readonly id: number; readonly page: PageMessage | undefined }
  | { readonly type: 'read-failed'; readonly id: number; readonly failure: FailureMessage }
  | { readonly type: 'called'; readonly id: number; readonly result: RemoteResult }
  | { readonly type: 'call-failed'; readonly id: number; readonly failure: FailureMessage }

export type CallMessage =
  | { readonly method: 'range'; readonly request: RangeRequest }
  | { readonly method: 'txn'; readonly request: TxnRequest }
  | { readonly method: 'grantLease'; readonly ttlSeconds: number; readonly id: bigint }

export type RemoteResult =
  | { readonly method: 'range'; readonly response: RemoteRange }
  | { readonly method: 'grantLease'; readonly lease: Lease }
  | {
      readonly method: 'txn'
      readonly response: Omit<TxnResponse, 'results'> & {
        readonly results: readonly RemoteOperation[]
      }
    }

export type RemoteOperation =
  | Exclude<OperationResult, { type: 'range' }>
  | { readonly type: 'range'; readonly response: RemoteRange }

export interface RemoteRange extends Omit<RangeResponse, 'entries'> {
  readonly entries: EntriesMessage
}

/** Entries as in a record, with their values. */
export interface EntriesMessage {
  readonly bytes: Uint8Array
  readonly count: number
}

/** A page of a read of etcd. */
export interface PageMessage extends Omit<RangePage, 'entries'> {
  readonly entries: EntriesMessage
}

/** A `CacheError` as a message. */
export interface FailureMessage {
  readonly code: ErrorCode
  readonly message: string
  readonly oldest?: number | undefined
  readonly latest?: number | undefined
  readonly retryAfterMs?: number | undefined
}

export function messageOfFailure({ code, message, details }: CacheError): FailureMessage {
  const { oldest, latest, retryAfterMs } = details
  return { code, message, oldest, latest, retryAfterMs }
}

export function failureOfMessage({ code, message, ...details }: FailureMessage): CacheError {
  return new CacheError(code, message, details)
}
