/** Guards event handlers of connections: an error that one throws would end the process, and with
 *  it all other requests. */

import type { Exchange, OnFault } from './exchange.ts'

/** The task, with errors caught: an error aborts the exchange, and nothing else. */
export function guarded(exchange: Exchange, task: () => void, onFault: OnFault): () => void {
  return () => {
    try {
      task()
    } catch (error) {
      onFault(error)
      exchange.abort()
    }
  }
}
