/** Which reads that pass are identical: those of which the upstream would see the same. */

import { requestInfo, type RequestTarget } from '@watchglass/kube'
import type { ForwardRequest } from '../upstream/upstream.ts'

/** Headers that differ from read to read, and that no answer to a get or list of objects depends
 *  on: kube-apiserver writes the address to its audit log, and the others to its traces. */
const ignoredHeaders: ReadonlySet<string> = new Set([
  'x-forwarded-for',
  'traceparent',
  'tracestate',
])

/** Headers that ask for less than the whole answer, by what the client has already. */
const conditions: ReadonlySet<string> = new Set([
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
])

/** Equal texts for reads that the upstream cannot tell apart: the same path and query, headers
 *  and connections, and so the same credentials, impersonation, and user as whom a front proxy
 *  speaks. Undefined for what is asked for alone: all but gets and lists of objects, and what has a
 *  body or conditions.
 *
 *  Headers that are not known count as well. So a read with an id of its own is never shared, and
 *  no list of headers decides whose body somebody gets. Values have no line ends. */
export function collapseKey(
  { path, isCanonical }: RequestTarget,
  request: ForwardRequest,
): string | undefined {
  const { method, headers, body, isLongRunning, as } = request
  if (method !== 'GET' || body !== undefined || isLongRunning || !isCanonical) return undefined
  const info = requestInfo(method, path)
  if (info === undefined || info.verb !== 'get' || info.subresource !== '') return undefined
  let key = `${as}\n${request.path}`
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]?.toLowerCase() ?? ''
    if (conditions.has(name)) return undefined
    if (!ignoredHeaders.has(name)) key += `\n${name}\n${headers[i + 1]}`
  }
  return key
}
