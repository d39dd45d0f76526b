/** The responses of a stream on their way to its client: one after the other, as the client takes
 *  them. One that is made in parts is sent by whoever gives it turns (`sendPart`). */

import type { WatchResponseMessage } from '@watchglass/etcd'
import type { WatchConnection } from './batch-source.ts'
import type { ResponseParts } from './response-part.ts'

export class StreamOutput {
  readonly #connection: WatchConnection
  #isBlocked = false
  #parts: ResponseParts | undefined
  /** The responses that follow the one under way: to requests that have been read already, and what
   *  etcd has sent. */
  #following: (WatchResponseMessage | ResponseParts)[] = []
  #heldBytes = 0

  constructor(connection: WatchConnection) {
    this.#connection = connection
  }

  /** Nothing more is to be made for the client now. */
  get isBusy(): boolean {
    return this.#isBlocked || this.#parts !== undefined
  }

  /** A part of a response may be sent. */
  get hasPart(): boolean {
    return this.#parts !== undefined && !this.#isBlocked
  }

  /** Bytes of the response under way that are kept for this client alone. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  send(response: WatchResponseMessage): void {
    if (this.#parts !== undefined) this.#following.push(response)
    else if (!this.#connection.send(response)) this.#isBlocked = true
  }

  /** Begins a response in parts. */
  begin(parts: ResponseParts): void {
    if (this.#parts === undefined) this.#parts = parts
    else this.#following.push(parts)
  }

  /** Takes a step of the response under way, and sends the part that it has made. */
  sendPart(): void {
    if (this.#parts === undefined || this.#isBlocked) return
    const { done, value } = this.#parts.next()
    if (done === true) this.#follow()
    else if (value !== undefined) {
      this.#heldBytes = value.heldBytes
      this.#isBlocked = !this.#connection.sendPart(value)
    }
  }

  #follow(): void {
    this.#parts = undefined
    this.#heldBytes = 0
    while (this.#parts === undefined && this.#following.length > 0) {
      const next = this.#following.shift()!
      if ('next' in next) this.#parts = next
      else this.send(next)
    }
  }

  /** The client takes responses again. */
  resume(): void {
    this.#isBlocked = false
  }

  /** Lets go of what is not sent. */
  close(): void {
    this.#parts?.return()
    this.#parts = undefined
    this.#following = []
    this.#heldBytes = 0
  }
}
