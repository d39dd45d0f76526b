/** The connections over HTTP/1.1 that are not Node's (connection.ts), and what they share. */

import type { Socket } from 'node:net'
import { Bag } from '@watchglass/base'
import { CommonFields } from './common-fields.ts'
import { BareConnection, type BareServices } from './connection.ts'
import { Corks } from './corks.ts'

export class BareConnections {
  readonly #connections = new Bag<BareConnection>()
  readonly #services: BareServices

  constructor(services: Omit<BareServices, 'common' | 'corks'>) {
    const common = new CommonFields(services.clock, services.idleTimeoutMs)
    this.#services = { ...services, common, corks: new Corks() }
  }

  /** Takes a connection. `handOver` gives it to Node's server as soon as it has a request that is
   *  not bare. */
  open(socket: Socket, handOver: (socket: Socket) => void): void {
    const giveAway = (): void => {
      leave()
      handOver(socket)
    }
    const leave = this.#connections.add(new BareConnection(socket, this.#services, giveAway))
    socket.once('close', leave)
  }

  closeIdle(): void {
    for (const connection of this.#connections) connection.endIfIdle()
  }
}
