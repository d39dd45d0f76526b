/** The messages of threads about encoded leaves. All of it goes by way of the main thread, in
 *  order. */

/** To the main thread. */
export type ToLedger = {
  /** This thread has encoded leaves. `id` is the thread's own number of each. */
  readonly type: 'made'
  /** Encoding of the segments. */
  readonly name: string
  readonly segments: readonly { readonly id: number; readonly memory: SharedArrayBuffer }[]
}

/** To a worker. */
export type ToShelf =
  /** Others have encoded leaves; they are kept in these slots. */
  | {
      readonly type: 'kept'
      readonly name: string
      readonly segments: readonly { readonly slot: number; readonly memory: SharedArrayBuffer }[]
    }
  /** Slots of the thread's own segments; undefined for one that another thread was first to
   *  make. */
  | {
      readonly type: 'placed'
      readonly segments: readonly { readonly id: number; readonly slot: number | undefined }[]
    }
  /** Segments in these slots are not kept any more. */
  | { readonly type: 'dropped'; readonly slots: readonly number[] }
