/** The code of an answer as a label. Whoever answers through a proxy of a pod chooses it: of codes
 *  that HTTP does not know only the class is told, so that nobody fills the series of others. */

import { STATUS_CODES } from 'node:http'

/** The code by which the log and metrics tell that a client has left. */
const clientLeft = 499

export function codeLabel(code: number): string {
  if (code === clientLeft || STATUS_CODES[code] !== undefined) return String(code)
  return `${Math.floor(code / 100)}xx`
}
