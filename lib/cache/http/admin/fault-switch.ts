/** The faults on purpose, on the admin listener:
 *
 *  ```
 *  GET /faults     {"faults":[{"rule":"latency,delay=200ms","met":17}]}
 *  PUT /faults     replaces all rules by those of the body, one a line; an empty body switches all off
 *  ``` */

import { CacheError } from '@watchglass/base'
import type { FaultCount } from '../request/faults.ts'
import type { HttpRequest } from '../server/http-request.ts'

/** The faults that are switched on. */
export interface FaultSwitch {
  readonly counts: readonly FaultCount[]
  /** Resolves when every request meets the new rules. Fails with `invalid_request` for a text that
   *  is no rule; then nothing is replaced. */
  replace(rules: readonly string[]): Promise<void>
}

/** A larger body is refused. */
const bodyMaxBytes = 64 * 1024

/** The rules of a request's body, as they are written. Fails with `invalid_request`, or with
 *  `closed` when the client leaves before its end. */
export async function readRules({ body }: HttpRequest): Promise<string[]> {
  const pieces: Buffer[] = []
  let bytes = 0
  // The refusal goes out on the connection of the body.
  const read = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  try {
    for await (const piece of read) {
      bytes += piece.length
      if (bytes > bodyMaxBytes) throw new CacheError('invalid_request', 'more than 64 KB of rules')
      pieces.push(piece)
    }
  } catch (error) {
    throw CacheError.from(error, 'closed')
  }
  const lines = Buffer.concat(pieces).toString('utf8').split('\n')
  return lines.map(line => line.trim()).filter(line => line !== '')
}

/** The body of GET /faults. */
export function faultsBody({ counts }: FaultSwitch): string {
  return `${JSON.stringify({ faults: counts })}\n`
}
