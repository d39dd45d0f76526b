/** Has Node hand over the connections of WebSockets only. Of any other request for an upgrade,
 *  such as those for HTTP/2 that clients of Java begin with, it would take a body for bytes of the
 *  new protocol. */

import { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isWebSocket } from '@watchglass/kube'

/** The requests for an upgrade that a server hands over. */
export type Upgrades = 'all' | 'WebSockets'

export class MaybeWebSocket extends IncomingMessage {
  constructor(socket: Socket) {
    super(socket)
    let isUpgrade = false
    // Node sets this from the headers, and looks once all of them are there.
    Object.defineProperty(this, 'upgrade', {
      configurable: true,
      get: () => isUpgrade && this.method === 'GET' && isWebSocket(this.headers),
      set: (value: boolean | null) => {
        isUpgrade = value === true
      },
    })
  }
}
