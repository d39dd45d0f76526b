/** What threads tell each other of encoded leaves. All of it goes by way of the main thread, in
 *  order. */

/** To the main thread. */
export type ToLedger = {
  /** This thread has encoded leaves. `id` is the thread's own number of each. */
  readonly type: 'made'
  /** How they are encoded. */
  readonly name: string
  readonly segments: readonly { readonly id: number; readonly memory: SharedArrayBuffer }[]
}

/** To a face thread. */
export type ToShelf =
  /** Others have encoded leaves; they are kept in these slots. */
  | {
      readonly type: 'kept'
      readonly name: string
      readonly segments: readonly { readonly slot: number; readonly memory: SharedArrayBuffer }[]
    }
  /** Where that which the thread has made is kept; undefined if it is not, because another thread
   *  was first. */
  | {
      readonly type: 'placed'
      readonly segments: readonly { readonly id: number; readonly slot: number | undefined }[]
    }
  /** What was in these slots is not kept any more. */
  | { readonly type: 'dropped'; readonly slots: readonly number[] }
