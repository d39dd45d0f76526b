/** Keeps web pages from a listener that believes whoever reaches it. A page in a browser on this machine may send requests here: across
 *  origins, which `Origin` tells, or as its own server, whose name it has made to mean this machine (DNS rebinding), which `Host`
 *  tells. No page can make an address or `localhost` its own. */

import { isIP } from 'node:net'
import type { Exchange, Handler } from './exchange.ts'
import { sendWhole } from './respond.ts'

/** Hands on what no web page has sent. `names` are further names of the server. */
export function withHostGuard(handler: Handler, names: readonly string[] = []): Handler {
  const known = new Set(names.map(name => name.toLowerCase()))
  return exchange => {
    const problem = problemOf(exchange, known)
    if (problem === undefined) handler(exchange)
    else {
      const headers = {
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      }
      sendWhole(exchange, { status: 403, headers }, Buffer.from(`${problem}\n`))
    }
  }
}

function problemOf({ headers }: Exchange, known: ReadonlySet<string>): string | undefined {
  const { host, origin } = headers
  // Only clients of HTTP/1.0 have none, and no browser is.
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
