/** Guards event handlers of connections: an error that one throws would end the process, and with
 *  it all other requests. */

import type { HttpRequest, OnFault } from './http-request.ts'

/** The task, with errors caught: an error aborts the response, and nothing else. */
export function guarded(request: HttpRequest, task: () => void, onFault: OnFault): () => void {
  return () => {
    try {
      task()
    } catch (error) {
      onFault(error)
      request.abort()
    }
  }
}
