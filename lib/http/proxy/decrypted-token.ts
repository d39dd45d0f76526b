/** Continue tokens on their way to the upstream. */

import type { TokenEncryption } from '../../kube/continuation.ts'
import { parseQuery, type RequestTarget } from '../../kube/request/request.ts'

/** Continue tokens that were encrypted here mean nothing elsewhere. */
export function withDecryptedToken(
  { raw }: RequestTarget,
  encryption: TokenEncryption | undefined,
): string {
  if (encryption === undefined || !raw.includes('continue=')) return raw
  const mark = raw.indexOf('?')
  const pairs = raw
    .slice(mark + 1)
    .split('&')
    .map(pair => {
      const token = parseQuery(pair).first('continue')
      const opened = token === undefined ? undefined : encryption.decrypt(token)
      return opened === undefined ? pair : `continue=${encodeURIComponent(opened)}`
    })
  return `${raw.slice(0, mark)}?${pairs.join('&')}`
}
