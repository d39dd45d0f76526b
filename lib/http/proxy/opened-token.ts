/** Continue tokens on their way to the upstream. */

import type { ContinuationSeal } from '../../kube/continuation.ts'
import { parseQuery, type RequestTarget } from '../../kube/request/request.ts'

/** Continue tokens that were encrypted here mean nothing elsewhere. */
export function withOpenedToken(
  { raw }: RequestTarget,
  seal: ContinuationSeal | undefined,
): string {
  if (seal === undefined || !raw.includes('continue=')) return raw
  const mark = raw.indexOf('?')
  const pairs = raw
    .slice(mark + 1)
    .split('&')
    .map(pair => {
      const token = parseQuery(pair).first('continue')
      const opened = token === undefined ? undefined : seal.open(token)
      return opened === undefined ? pair : `continue=${encodeURIComponent(opened)}`
    })
  return `${raw.slice(0, mark)}?${pairs.join('&')}`
}
