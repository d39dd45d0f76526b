/** A request of the fleet to one of its clusters whose answer is read line by line as it comes:
 *  that of a live view. A Status, which is no stream of lines, is the rest when it ends. */

import { CollectedRequest } from '@watchglass/cache'
import type { OwnAsCaller } from './request-of-caller.ts'

export interface Streamed extends OwnAsCaller {
  /** A longer line is cut off. */
  readonly maxBytes: number
  readonly onLine: (line: string) => void
}

const lineFeed = 0x0a

export class StreamedRequest extends CollectedRequest {
  readonly #options: Streamed
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(options: Streamed) {
    super(options)
    this.#options = options
  }

  /** The text after the last line. */
  get rest(): string {
    return Buffer.concat(this.#pieces).toString('utf8')
  }

  override write(piece: Uint8Array): boolean {
    // A refusal is one document, with a line break at its end.
    if (this.status !== 200) this.#keep(piece)
    let from = this.status === 200 ? 0 : piece.length
    for (;;) {
      if (this.isClosed || from >= piece.length) return true
      const end = piece.indexOf(lineFeed, from)
      this.#keep(end < 0 ? piece.subarray(from) : piece.subarray(from, end))
      if (end < 0 || this.isClosed) return true
      const line = this.rest
      this.#pieces = []
      this.#bytes = 0
      if (line !== '') this.#options.onLine(line)
      from = end + 1
    }
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.length
    if (this.#bytes > this.#options.maxBytes) {
      this.isTooLarge = true
      this.#pieces = []
      this.abort()
    } else if (part.length > 0) this.#pieces.push(part)
  }
}
