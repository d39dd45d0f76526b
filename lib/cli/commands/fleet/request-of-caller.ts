/** Requests of the fleet to one of its clusters in the name of a caller: with the caller's headers
 *  and connection, and an answer that is collected. */

import { CollectedRequest, type HttpRequest } from '@watchglass/cache'

/** The parts of a request that say what is asked of a cluster, and as whom. */
export type OwnAsCaller = Pick<HttpRequest, 'target' | 'headers' | 'rawHeaders' | 'peer'>

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
  caller: HttpRequest,
  target: string,
  maxBytes: number,
): CollectedRequest {
  return new CollectedRequest({ ...asCaller(caller, target), maxBytes })
}

/** A request of somebody who asks as somebody else, as who that is. */
export function requestAsSelf(caller: HttpRequest, target: string): CollectedRequest {
  const isImpersonation = (name: string): boolean =>
    name.replaceAll('_', '-').startsWith('impersonate-')
  return new CollectedRequest({ ...asCaller(caller, target, isImpersonation), maxBytes: 0 })
}

export function asCaller(
  { headers, rawHeaders, peer }: HttpRequest,
  target: string,
  isDropped: (name: string) => boolean = () => false,
): OwnAsCaller {
  const isLeft = (name: string): boolean => left.has(name) || isDropped(name)
  const own = Object.entries(headers).filter(([name]) => !isLeft(name))
  const raw = ['accept', 'application/json']
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2)
    if (!isLeft(name.toLowerCase())) raw.push(name, value)
  }
  return {
    target,
    headers: { ...Object.fromEntries(own), accept: 'application/json' },
    rawHeaders: raw,
    peer,
  }
}
