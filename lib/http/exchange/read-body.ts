/** A request's body as a whole, for what must be seen whole before anything is done. */

import type { Clock } from '../../base/clock.ts'
import { beginBody } from '../../front/proxy/request-body.ts'
import type { Exchange } from '../server/exchange.ts'

/** The body; undefined if it is longer than `maxBytes`: then no more of it is read. Every piece has a deadline. */
export async function readBody(
  exchange: Exchange,
  maxBytes: number,
  clock: Clock,
): Promise<Uint8Array | undefined> {
  if (!exchange.hasBody) return new Uint8Array(0)
  const pieces: Uint8Array[] = []
  let bytes = 0
  const body = await beginBody(exchange, () => false, clock)
  for await (const piece of body.pieces()) {
    bytes += piece.length
    if (bytes > maxBytes) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces, bytes)
}
