/** The states of a mirrored keyspace, and the function that computes the next state.
 *
 *  ```
 *               restored              caught-up
 *   starting ─────────────▶ catching-up ────────▶ ready ◀──────────┐
 *      ▲                     ▲   │                 │               │ caught-up
 *      │ new-epoch           │   │ disconnected    │ disconnected  │
 *      │ (from every state)  │   └───────┐  ┌──────┘               │
 *      │                     │           ▼  ▼                      │
 *      │            restored │          cut-off ───────────────────┘
 *      │                     │             │ restored: stays, its contents are newer
 *      │                  suspect ◀────────┘ distrusted (from every state but starting)
 *  ```
 *
 *  Contents are served from `catching-up`, `ready` and `cut-off`; consistent reads are decided by
 *  progress in each of them. */

export type KeyspaceState = 'starting' | 'catching-up' | 'ready' | 'cut-off' | 'suspect'

export type KeyspaceEvent =
  | 'restored' // contents are whole at one revision, and agree with etcd
  | 'caught-up' // progress has reached the revision that etcd had when the stream was opened
  | 'disconnected' // the stream is over
  | 'distrusted' // an order violation, or a self-check that did not agree
  | 'new-epoch' // etcd's history is another one now

/** The state after `event`. */
export function transition(state: KeyspaceState, event: KeyspaceEvent): KeyspaceState {
  switch (event) {
    case 'new-epoch':
      return 'starting'
    case 'restored':
      return state === 'starting' || state === 'suspect' ? 'catching-up' : state
    case 'caught-up':
      return state === 'catching-up' || state === 'cut-off' ? 'ready' : state
    case 'disconnected':
      return state === 'catching-up' || state === 'ready' ? 'cut-off' : state
    case 'distrusted':
      return state === 'starting' ? 'starting' : 'suspect'
  }
}

/** The contents may be shown to clients. */
export function isServed(state: KeyspaceState): boolean {
  return state !== 'starting' && state !== 'suspect'
}
