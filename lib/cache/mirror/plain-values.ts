/** Values that an API server has compressed before it stored them (KEP-6264, alpha in 1.38), made
 *  plain as they come: whoever reads the mirror finds what they would have been without.
 *
 *  ```
 *  00 'k' '8' 's' | 00 | the value as it was
 *  00 'k' '8' 's' | 01 | its length, as a varint | a stream of deflate (RFC 1951)
 *  ```
 *
 *  No storage format of Kubernetes begins with a zero byte. Such a frame is of no use to whoever
 *  wants etcd's own bytes, so the mirror of etcd's API leaves it as it is.
 *
 *  What is longer than it says, or shorter, or longer than API servers write, or of a kind that is
 *  not known, stays as it came: the codec then says that it is compressed, and such reads pass. */

import { constants, inflateRawSync } from 'node:zlib'
import { KeyValue, SlabWriter } from '@watchglass/store'

/** API servers compress nothing that is longer: etcd would not take it back. It takes 3 ms. */
const plainMaxBytes = 1_536 * 1024
/** The most bytes that are made plain at once, which holds the event loop meanwhile. API servers
 *  write one value in a transaction. */
export const atOnceMaxBytes: number = 3 * 1024 * 1024

const headBytes = 5
const stored = 0
const deflated = 1

/** Bytes that may still be made plain before the event loop has its turn. */
export interface PlainRoom {
  bytes: number
}

export class PlainValues {
  readonly #slabs = new SlabWriter()

  /** The entry with its value made plain; the same entry if it is no frame, or none that can be
   *  read. */
  of(entry: KeyValue, room: PlainRoom): KeyValue {
    const { bytes, start, end } = entry
    if (end - start < headBytes || bytes[start] !== 0 || !isFrame(bytes, start)) return entry
    const body = bytes.subarray(start + headBytes, end)
    const plain = bytes[start + 4] === stored ? storedIn(body) : inflatedOf(bytes, entry, room)
    return plain === undefined ? entry : new KeyValue(entry.key, this.#slabs.copy(plain), entry)
  }
}

/** The first bytes are those of a frame, compressed in whatever way. */
function isFrame(bytes: Uint8Array, start: number): boolean {
  return bytes[start + 1] === 0x6b && bytes[start + 2] === 0x38 && bytes[start + 3] === 0x73
}

function storedIn(body: Uint8Array): Uint8Array | undefined {
  return body.length > plainMaxBytes ? undefined : body
}

function inflatedOf(
  bytes: Uint8Array,
  { start, end }: Pick<KeyValue, 'start' | 'end'>,
  room: PlainRoom,
): Uint8Array | undefined {
  if (bytes[start + 4] !== deflated) return undefined
  const said = lengthAt(bytes, start + headBytes, end)
  if (said === undefined || said.length === 0) return undefined
  if (said.length > plainMaxBytes || said.length > room.bytes) return undefined
  room.bytes -= said.length
  try {
    const plain = inflateRawSync(bytes.subarray(said.end, end), {
      // One byte more than it says shows that it is longer.
      maxOutputLength: said.length + 1,
      chunkSize: Math.max(constants.Z_MIN_CHUNK, Math.min(said.length + 1, 64 * 1024)),
    })
    return plain.length === said.length ? plain : undefined
  } catch (error) {
    // Damaged, or longer than it says.
    const { code } = error as { readonly code?: string }
    if (code === 'ERR_BUFFER_TOO_LARGE' || code?.startsWith('Z_') === true) return undefined
    throw error
  }
}

/** A number of at most 21 bits, and where it ends. */
function lengthAt(
  bytes: Uint8Array,
  start: number,
  end: number,
): { readonly length: number; readonly end: number } | undefined {
  let length = 0
  for (let i = 0; i < 3 && start + i < end; i++) {
    const byte = bytes[start + i]!
    length |= (byte & 0x7f) << (7 * i)
    if (byte < 0x80) return { length, end: start + i + 1 }
  }
  return undefined
}
