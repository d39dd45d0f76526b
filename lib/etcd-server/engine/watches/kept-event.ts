/** An event that keeps its bytes once they are made. */

import type { Key, Revision } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import {
  eventCodec,
  leaveInMessage,
  type WatchEvent,
  type WatchResponseMessage,
  ProtoWriter,
} from '@watchglass/etcd'

/** A response with its bytes, as they are sent. */
export interface KeptResponse {
  readonly message: WatchResponseMessage
  readonly pieces: readonly Buffer[]
}

export class KeptEvent implements WatchEvent {
  readonly key: Key
  readonly revision: Revision
  readonly after: KeyValue | undefined
  readonly previous: KeyValue | undefined
  /** The last response that begins with this event: mostly the next watcher is sent the same. */
  response: KeptResponse | undefined = undefined
  #bytes: Buffer | undefined = undefined
  #isWritten = false

  constructor({ key, revision, after, previous }: WatchEvent) {
    this.key = key
    this.revision = revision
    this.after = after
    this.previous = previous
  }

  /** The event as a field of a watch response, with its tag and length. Never write to it. */
  get bytes(): Buffer {
    return (this.#bytes ??= fieldOf(this))
  }

  /** Writes the same. The first time the bytes are not made for that: mostly all watchers are sent
   *  the same response. */
  write(writer: ProtoWriter): void {
    if (this.#bytes !== undefined || this.#isWritten) writer.raw(this.bytes)
    else writeField(writer, this)
    this.#isWritten = true
  }
}

/** The number of the events in a watch response. */
const eventsField = 11

const { write } = eventCodec(leaveInMessage)

/** The bytes of an event as a field of a watch response. */
export function fieldOf(event: WatchEvent): Buffer {
  const writer = new ProtoWriter(fieldSize(event))
  writeField(writer, event)
  return writer.finish()
}

/** The most that this field takes. */
export function fieldSize({ key, after, previous }: WatchEvent): number {
  return (after?.valueLength ?? 0) + (previous?.valueLength ?? 0) + 3 * key.length + 160
}

export function writeField(writer: ProtoWriter, event: WatchEvent): void {
  const before = writer.length
  write(writer, event)
  writer.closeMessage(eventsField, before)
}
