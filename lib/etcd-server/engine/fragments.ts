/** The size of watch responses: etcd splits those that exceed its request limit, for watchers that
 *  asked for it. */

import type { KeyValue } from '@watchglass/store'
import type { WatchEvent } from '@watchglass/etcd'

/** etcd's request limit and what it allows for gRPC's own needs. */
export const responseMaxBytes: number = (1.5 + 0.5) * 1024 * 1024

/** The bytes of an entry besides key and value: tags, lengths, revisions, version, lease. */
const entryOverheadBytes = 48

/** The size of an event in a response, or a little more. */
export function sizeOfEvent({ key, after, previous }: WatchEvent): number {
  return sizeOfEntry(after) + sizeOfEntry(previous) + key.length + entryOverheadBytes
}

/** The size of an entry in a response, or a little more. */
export function sizeOfEntry(entry: KeyValue | undefined): number {
  return entry === undefined ? 0 : entry.key.length + entry.valueLength + entryOverheadBytes
}

/** The events in parts that fit into a response each; an event that alone exceeds the limit is a
 *  part of its own. */
export function fragmentsOf(events: readonly WatchEvent[]): WatchEvent[][] {
  const parts: WatchEvent[][] = []
  let part: WatchEvent[] = []
  let bytes = 0
  for (const event of events) {
    const size = sizeOfEvent(event)
    if (part.length > 0 && bytes + size >= responseMaxBytes) {
      parts.push(part)
      part = []
      bytes = 0
    }
    part.push(event)
    bytes += size
  }
  parts.push(part)
  return parts
}
