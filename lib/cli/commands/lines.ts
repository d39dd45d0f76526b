/** Lines of a stream of bytes, which may come in any pieces. */

import { CacheError } from '@watchglass/base'

/** The end of what was read. */
export interface LinesEnd {
  /** The bytes after the last line feed. */
  readonly rest: string
}

/** Yields each line, without its line feed, and returns what follows the last one. A line that is
 *  longer than `maxBytes` is refused before it is in memory. */
export async function* linesIn(
  stream: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<string, LinesEnd> {
  // A line may come in many pieces, which are joined once.
  let pieces: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end))
      yield Buffer.concat(pieces).toString('utf8')
      pieces = []
      bytes = 0
      start = end + 1
    }
    if (start === chunk.length) continue
    pieces.push(chunk.subarray(start))
    bytes += chunk.length - start
    if (bytes > maxBytes) {
      throw new CacheError('invalid_request', `a line is longer than ${maxBytes} bytes`)
    }
  }
  return { rest: Buffer.concat(pieces).toString('utf8') }
}
