/** The messages of etcd's Watch service. */

import { type Key, WireReader } from '@watchglass/base'
import {
  bigint,
  bool,
  type Codec,
  embedded,
  int,
  key,
  message,
  type OneOf,
  oneOf,
  repeated,
  repeatedInt,
  text,
} from './codec.ts'
import { eventCodec, leaveInMessage, type WatchEvent } from './key-value.ts'
import { type HeaderMessage, headerCodec } from './kv-messages.ts'

/** The events that a watcher leaves out. */
export const watchFilter = { noPut: 0, noDelete: 1 } as const

/** The watch id of what concerns no watcher, or all of a stream. */
export const noWatchId = -1n

export interface WatchCreateMessage {
  readonly key: Key
  readonly rangeEnd: Key
  readonly startRevision: number
  readonly progressNotify: boolean
  readonly filters: readonly number[]
  readonly previous: boolean
  readonly watchId: bigint
  readonly fragment: boolean
}

const createCodec = message<WatchCreateMessage>({
  key: key(1),
  rangeEnd: key(2),
  startRevision: int(3),
  progressNotify: bool(4),
  filters: repeatedInt(5),
  previous: bool(6),
  watchId: bigint(7),
  fragment: bool(8),
})

export interface WatchCancelMessage {
  readonly watchId: bigint
}

export type WatchRequestMessage = OneOf<{
  create: WatchCreateMessage
  cancel: WatchCancelMessage
  progress: object
}>

/** A request on a watch stream; an empty one is ignored, as etcd does it. */
export interface WatchRequestHolder {
  readonly request: WatchRequestMessage | undefined
}

export const watchRequestCodec: Codec<WatchRequestHolder> = message<WatchRequestHolder>({
  request: oneOf({
    create: [1, createCodec],
    cancel: [2, message<WatchCancelMessage>({ watchId: bigint(1) })],
    progress: [3, message<object>({})],
  }),
})

export interface WatchResponseMessage {
  readonly header: HeaderMessage | undefined
  readonly watchId: bigint
  readonly created: boolean
  readonly canceled: boolean
  readonly compactRevision: number
  readonly cancelReason: string
  readonly fragment: boolean
  readonly events: readonly WatchEvent[]
}

const eventsField = 11
/** Bytes of events that are read at once: at most some two thousand deletions. */
const pieceBytes = 64 * 1024

/** The pieces of a watch response of which each can be read for itself: all but the first have
 *  nothing but events. etcd sends the events last; a response of another kind stays whole, and one
 *  that is malformed, too. */
export function piecesOf(response: Buffer): readonly Buffer[] {
  if (response.length <= 2 * pieceBytes) return [response]
  const pieces: Buffer[] = []
  const reader = new WireReader()
  reader.reset(response, 0, response.length)
  let start = 0
  let hasEvents = false
  for (let at = 0; reader.nextField(); at = reader.at) {
    const isEvent = reader.field === eventsField
    if (hasEvents && !isEvent) return [response]
    if (hasEvents && at - start >= pieceBytes) {
      pieces.push(response.subarray(start, at))
      start = at
    }
    hasEvents = isEvent
    reader.skip()
  }
  return reader.isMalformed ? [response] : [...pieces, response.subarray(start)]
}

/** The codec of watch responses whose events are read by `events`. */
export function createWatchResponseCodec(events: Codec<WatchEvent>): Codec<WatchResponseMessage> {
  return message<WatchResponseMessage>({
    header: embedded(1, headerCodec),
    watchId: bigint(2),
    created: bool(3),
    canceled: bool(4),
    compactRevision: int(5),
    cancelReason: text(6),
    fragment: bool(7),
    events: repeated(eventsField, events),
  })
}

export const watchResponseCodec: Codec<WatchResponseMessage> = createWatchResponseCodec(
  eventCodec(leaveInMessage),
)
