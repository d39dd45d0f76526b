/** The size of watch responses: etcd splits those that exceed its request limit, for watchers that
 *  asked for it. */

import type { KeyValue } from '@watchglass/store'
import {
  eventLength,
  type WatchEvent,
  watchResponseCodec,
  type WatchResponseMessage,
} from '@watchglass/etcd'

/** etcd's request limit and what it allows for gRPC's own needs. */
export const responseMaxBytes: number = (1.5 + 0.5) * 1024 * 1024

/** The bytes of an entry besides key and value: tags, lengths, revisions, version, lease. */
const entryOverheadBytes = 48

/** The bytes by which a response says that it is a fragment. */
const fragmentMarkBytes = 2

/** The size of an entry in a response, or a little more. */
export function sizeOfEntry(entry: KeyValue | undefined): number {
  return entry === undefined ? 0 : entry.key.length + entry.valueLength + entryOverheadBytes
}

/** The bytes of a response beside its events. */
export function headBytesOf(response: WatchResponseMessage): number {
  return watchResponseCodec.encode({ ...response, events: [] }).length
}

/** Whether etcd sends a response whole: one with so many bytes of events, and so many beside
 *  them. */
export function isSentWhole(headBytes: number, eventBytes: number): boolean {
  return headBytes + eventBytes < responseMaxBytes
}

/** The places at which etcd cuts a response that it does not send whole (`sendFragments` in its
 *  v3rpc/watch.go): a fragment is as long as it may be, and has one event at least. */
export class FragmentCuts {
  readonly #headBytes: number
  #eventBytes = 0

  /** `headBytes` are those of the response beside its events. */
  constructor(headBytes: number) {
    this.#headBytes = headBytes + fragmentMarkBytes
  }

  /** Takes the length of the next event. True if a fragment begins with it, and it is not the
   *  first. */
  isCutBefore(length: number): boolean {
    const bytes = this.#eventBytes + length
    const isCut = this.#eventBytes > 0 && this.#headBytes + bytes >= responseMaxBytes
    this.#eventBytes = isCut ? length : bytes
    return isCut
  }
}

/** The events of a response as etcd cuts them into fragments. */
export function fragmentsOf(events: readonly WatchEvent[], headBytes: number): WatchEvent[][] {
  const lengths = events.map(eventLength)
  const bytes = lengths.reduce((sum, length) => sum + length, 0)
  if (isSentWhole(headBytes, bytes)) return [[...events]]
  const cuts = new FragmentCuts(headBytes)
  const parts: WatchEvent[][] = [[]]
  for (const [i, event] of events.entries()) {
    if (cuts.isCutBefore(lengths[i]!)) parts.push([])
    parts.at(-1)!.push(event)
  }
  return parts
}
