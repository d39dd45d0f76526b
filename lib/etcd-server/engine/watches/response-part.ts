/** Parts of a response that is too large to be made in one step. */

import type { WatchEvent, WatchResponseMessage } from '@watchglass/etcd'

/** Some events of a response that is sent in parts. */
export interface ResponsePart {
  /** The response without its events. */
  readonly response: WatchResponseMessage
  /** The bytes of all events of the response. */
  readonly eventBytes: number
  readonly isFirst: boolean
  readonly isLast: boolean
  /** Bytes of later parts that are kept for this response alone. */
  readonly heldBytes: number
  /** The events of this part. */
  readonly events: () => readonly WatchEvent[]
  /** Their bytes, shared with others. Never write to them. */
  readonly bytes: () => Buffer
}

/** The parts of a response; undefined after a step that has made none. */
export type ResponseParts = Generator<ResponsePart | undefined, void, undefined>
