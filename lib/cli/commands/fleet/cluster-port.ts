/** The part that one cluster has in the port of a fleet: the requests that are routed to it. To its
 *  service it is the listener: the service ends when these requests have, whatever other clusters
 *  have under way. */

import { Bag } from '@watchglass/base'
import { type Handler, type HttpRequest, withHostGuard } from '@watchglass/cache'
import type { ClientPort } from '../../compose/service-options.ts'

export interface ClusterPortOptions {
  /** The port of the fleet. */
  readonly port: number
  /** As in `ListeningOptions`. */
  readonly guardedHosts: readonly string[] | undefined
}

export class ClusterPort implements ClientPort {
  readonly server: ClientPort['server']
  /** The certificate is the fleet's. */
  readonly tls: ClientPort['tls'] = undefined
  readonly #options: ClusterPortOptions
  readonly #requests = new Bag<HttpRequest>()
  #handler: Handler = request => request.abort()
  #onIdle: (() => void) | undefined

  constructor(options: ClusterPortOptions) {
    this.#options = options
    const requests = this.#requests
    this.server = {
      port: options.port,
      get requestsInFlight() {
        return requests.size
      },
      // The connections are not this cluster's: they go on with requests for others.
      leave: () => {},
      replaceTls: () => {},
      drain: () => this.#drain(),
      close: () => {
        for (const request of requests) request.abort()
      },
    }
  }

  serve(handler: Handler): void {
    const { guardedHosts } = this.#options
    this.#handler = guardedHosts === undefined ? handler : withHostGuard(handler, guardedHosts)
  }

  /** Hands a request to the service. */
  begin(request: HttpRequest): void {
    const leave = this.#requests.add(request)
    request.onClose(() => {
      leave()
      if (this.#requests.size === 0) this.#onIdle?.()
    })
    this.#handler(request)
  }

  #drain(): Promise<void> {
    if (this.#requests.size === 0) return Promise.resolve()
    return new Promise(resolve => (this.#onIdle = resolve))
  }
}
