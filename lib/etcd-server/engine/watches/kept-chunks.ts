/** Bytes of chunks that are encoded, for whoever is sent them next. Streams that take what they
 *  are sent are not far from each other: only what was used lately is kept, and a stream that is
 *  far behind has chunks encoded again. */

import { LRUCache } from 'lru-cache'

/** Bound of the bytes that are kept for all streams: more than the deletes of a hundred thousand
 *  keys. */
const keptMaxBytes = 32 * 1024 * 1024

export type KeptChunks = LRUCache<object, Buffer>

export function createKeptChunks(): KeptChunks {
  return new LRUCache({ maxSize: keptMaxBytes, sizeCalculation: bytes => bytes.length })
}
