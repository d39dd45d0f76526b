/** What runs when a connection says so, and nobody waits for it: what it throws would end the process, and with it everybody's requests. */

import type { Exchange, OnFault } from './exchange.ts'

/** A task whose mistake ends its exchange, and nothing else. */
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
