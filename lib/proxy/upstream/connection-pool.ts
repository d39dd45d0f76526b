/** The connections to one server of the upstream for one identity and one use. Each is an undici
 *  client with one request at a time. An idle one is used again, the last used first, so that those
 *  that are not needed grow old; beyond the bound requests wait in a line.
 *
 *  undici's own pool looks through all its connections for a free one, and serves requests in the
 *  order in which they came: ten thousand watches would make each new one slow, and one user's
 *  thousand requests would make everybody wait. */

import type { Client } from 'undici'
import { CacheError } from '@watchglass/base'
import { type Lined, UserLines } from './user-lines.ts'

/** A request that needs a connection. */
export interface Passage extends Lined {
  /** Gives itself to the connection. False if it has failed at once: nothing was sent then. */
  send(client: Client): boolean
  failed(error: unknown): void
}

export interface ConnectionPoolOptions {
  /** Makes a client, which connects when it has a request. */
  readonly createClient: () => Client
  readonly connectionsMax: number
  /** Bound of these for each user at once. */
  readonly perUserMax: number
  /** False if each connection carries one request only. */
  readonly isReused: boolean
}

export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  /** Each client with what it carries; undefined if that is nothing. */
  readonly #carried = new Map<Client, Passage | undefined>()
  readonly #idle: Client[] = []
  readonly #lines: UserLines<Passage>
  #state: 'open' | 'retired' | 'closed' = 'open'

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
    this.#lines = new UserLines(options.perUserMax)
  }

  /** True without a connection and without anybody who waits for one. */
  get isEmpty(): boolean {
    return this.#carried.size === 0 && !this.#lines.isWaiting
  }

  /** Sends a request as soon as there is a connection, and a turn of its user. */
  dispatch(passage: Passage): void {
    if (this.#state === 'closed') {
      passage.failed(serviceEnds())
      return
    }
    const client = this.#lines.mayTake(passage.user) ? this.#clientFor() : undefined
    if (client === undefined) {
      this.#lines.add(passage)
      return
    }
    this.#lines.take(passage.user)
    this.#carried.set(client, passage)
    if (!passage.send(client)) this.#drop(client)
  }

  /** Forgets a request that was not sent yet. */
  cancel(passage: Passage, client: Client | undefined): void {
    if (client === undefined) this.#lines.delete(passage)
    else this.#drop(client)
  }

  /** Sends no more requests that come: connections are closed as soon as what was given to them is
   *  over. */
  retire(): void {
    this.#state = 'retired'
    for (const client of this.#idle.slice()) this.#drop(client)
  }

  close(): void {
    this.#state = 'closed'
    const passages = [...this.#carried.values(), ...this.#lines.takeAll()]
    for (const passage of passages) passage?.failed(serviceEnds())
    for (const client of this.#carried.keys()) this.#drop(client)
  }

  #clientFor(): Client | undefined {
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    if (this.#carried.size >= this.#options.connectionsMax) return undefined
    const client = this.#options.createClient()
    let isConnected = false
    client.on('connect', () => {
      isConnected = true
    })
    client.on('disconnect', () => {
      isConnected = false
      if (this.#carried.get(client) === undefined) this.#drop(client)
    })
    // The request is over, and the client knows whether its connection can be used again.
    client.on('drain', () => {
      const mayStay = this.#options.isReused && this.#state !== 'retired'
      if (isConnected && (mayStay || this.#lines.isWaiting)) this.#free(client)
      else this.#drop(client)
    })
    return client
  }

  #free(client: Client): void {
    const passage = this.#carried.get(client)
    if (passage === undefined) return
    this.#carried.set(client, undefined)
    this.#idle.push(client)
    this.#lines.give(passage.user)
    this.#next()
  }

  #drop(client: Client): void {
    if (!this.#carried.has(client)) return
    const passage = this.#carried.get(client)
    this.#carried.delete(client)
    const place = this.#idle.indexOf(client)
    if (place >= 0) this.#idle.splice(place, 1)
    void client.destroy()
    if (passage !== undefined) this.#lines.give(passage.user)
    this.#next()
  }

  /** Carries who waits, now that there is a connection, or room for one. */
  #next(): void {
    while (this.#idle.length > 0 || this.#carried.size < this.#options.connectionsMax) {
      const next = this.#lines.next()
      if (next === undefined) return
      this.dispatch(next)
    }
  }
}

function serviceEnds(): CacheError {
  return new CacheError('closed', 'the service ends')
}
