/** The connections over HTTP/2, and what they share. */

import type { Socket } from 'node:net'
import { Bag, type Clock, type Rounds } from '@watchglass/base'
import type { Arrivals } from '../arrivals.ts'
import { Corks } from '../bare/corks.ts'
import type { StreamLimits } from '../stream-limits.ts'
import { type ConnectionServices, Http2Connection } from './connection.ts'
import { pingRounds, type PingTimes } from './pings.ts'
import { headerField } from '@watchglass/etcd'

interface SharedServices extends Omit<ConnectionServices, 'corks' | 'dateField' | 'windows'> {
  readonly arrivals: Arrivals
  readonly limits: StreamLimits
  /** Undefined: clients are not pinged. */
  readonly pings: PingTimes | undefined
}

/** Windows of a client that is known: one round trip of 10 ms carries 100 MB/s. */
const windows = { stream: 1024 * 1024, connection: 16 * 1024 * 1024 }

export class Http2Connections {
  readonly #connections = new Bag<Http2Connection>()
  readonly #services: ConnectionServices & SharedServices
  readonly #pings: Rounds | undefined
  #isDraining = false

  constructor(services: SharedServices) {
    const date = new DateField(services.clock)
    this.#services = { ...services, windows, corks: new Corks(), dateField: () => date.now() }
    const { clock, pings } = services
    this.#pings = pings && pingRounds(clock, this.#connections, pings)
  }

  open(socket: Socket): void {
    const { arrivals, limits } = this.#services
    const streamsMax = limits.begin(arrivals.isCrowded)
    const connection = new Http2Connection(socket, this.#services, streamsMax)
    const leave = this.#connections.add(connection)
    this.#pings?.wake()
    arrivals.add(connection, connection)
    socket.once('close', () => {
      leave()
      arrivals.remove(connection)
    })
    if (this.#isDraining) connection.close()
  }

  /** Connections take no more requests, and end when those under way are over. */
  drain(): void {
    this.#isDraining = true
    for (const connection of this.#connections) connection.close()
  }

  destroy(): void {
    this.#isDraining = true
    for (const connection of this.#connections) connection.destroy()
    this.#pings?.stop()
  }
}

/** The line that says when a response was made. It changes once a second. */
class DateField {
  readonly #clock: Clock
  #second = 0
  #field = ''

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): string {
    const second = Math.floor(this.#clock.wallMs() / 1000)
    if (second !== this.#second) {
      this.#second = second
      this.#field = headerField('date', new Date(second * 1000).toUTCString())
    }
    return this.#field
  }
}
