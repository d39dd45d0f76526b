/** Decrypts continue tokens in requests that pass to the upstream. */

import { parseQuery, prefixOfList, routeRequest, type TokenEncryption } from '@watchglass/kube'
import type { RequestContext } from '@watchglass/cache'

/** The target, with the plain token in place of one that was encrypted here. This is done only for
 *  the list that the token was made for. Otherwise a client could have a token decrypted and read
 *  it, for example in a pod of its own behind pods/proxy. */
export function withDecryptedToken(
  { target, request, state }: RequestContext,
  encryption: TokenEncryption,
): string {
  const { raw, path } = target
  if (!raw.includes('continue=')) return raw
  const route = routeRequest(request.method, path, state.registry)
  const prefix = route.type === 'resource' ? prefixOfList(route) : undefined
  if (prefix === undefined || request.method !== 'GET') return raw
  const mark = raw.indexOf('?')
  const pairs = raw
    .slice(mark + 1)
    .split('&')
    .map(pair => {
      const token = parseQuery(pair).first('continue')
      const plain = token === undefined ? undefined : encryption.decrypt(token, prefix)
      return plain === undefined ? pair : `continue=${encodeURIComponent(plain)}`
    })
  return `${raw.slice(0, mark)}?${pairs.join('&')}`
}
