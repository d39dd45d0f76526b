/** Keeps web pages away from a listener without authorization. A page in a browser on this machine
 *  can send requests to it in two ways: across origins, which the `Origin` header shows; or by a
 *  DNS name of its own server that it has pointed at this machine (DNS rebinding), which the `Host`
 *  header shows. A page cannot use an IP address or `localhost` that way. */

import { isIP } from 'node:net'
import type { HttpRequest, Handler } from './http-request.ts'
import { sendWhole } from './respond.ts'

/** A handler that refuses requests of web pages and passes on all others. `names` are further names
 *  of the server. */
export function withHostGuard(handler: Handler, names: readonly string[] = []): Handler {
  const known = new Set(names.map(name => name.toLowerCase()))
  /** The last one that was fine: most clients say the same. */
  let lastHost: string | undefined = undefined
  return request => {
    const { host, origin } = request.headers
    const isUsual = host === lastHost && origin === undefined
    const problem = isUsual ? undefined : webPageProblem(request, known)
    if (problem === undefined) {
      lastHost = host
      handler(request)
    } else {
      const headers = {
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      }
      sendWhole(request, { status: 403, headers }, Buffer.from(`${problem}\n`))
    }
  }
}

/** Why a request may be one of a web page; undefined if it is none. */
export function webPageProblem(
  { headers }: HttpRequest,
  known: ReadonlySet<string> = new Set(),
): string | undefined {
  const { host, origin } = headers
  // Only HTTP/1.0 clients send no Host header, and no browser is one.
  if (host !== undefined && !isOwnName(host, known)) {
    return 'this name is not known to be this server: use localhost or an address, or start it with --allowed-host'
  }
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
    return 'requests from web pages of other servers are refused'
  }
  return undefined
}

function isOwnName(host: string, known: ReadonlySet<string>): boolean {
  const name = host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase()
  return isIP(name) !== 0 || name === 'localhost' || known.has(name)
}
