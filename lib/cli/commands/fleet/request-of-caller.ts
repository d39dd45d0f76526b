/** A request of the fleet to one of its clusters in the name of a caller: with the caller's headers
 *  and connection, and an answer that is collected. */

import { CollectedRequest, type HttpRequest } from '@watchglass/cache'

/** Headers that are about the caller's own exchange, and not about what is asked here. */
const left: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'te',
  'transfer-encoding',
  'upgrade',
])

export function requestOfCaller(
  { headers, rawHeaders, peer }: HttpRequest,
  target: string,
  maxBytes: number,
): CollectedRequest {
  const own = Object.entries(headers).filter(([name]) => !left.has(name))
  const raw = ['accept', 'application/json']
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2)
    if (!left.has(name.toLowerCase())) raw.push(name, value)
  }
  return new CollectedRequest({
    target,
    headers: { ...Object.fromEntries(own), accept: 'application/json' },
    rawHeaders: raw,
    peer,
    maxBytes,
  })
}
