/** The proxy between us and the API server: `proxy-url` of the cluster, or what the environment
 *  names. */

import { CacheError } from '@watchglass/base'
import { proxyFromEnvironment } from './proxy-environment.ts'

export interface ForwardProxy {
  readonly type: 'http' | 'https' | 'socks5'
  readonly host: string
  readonly port: number
  /** Decoded; undefined if the URL names nobody. */
  readonly user: { readonly name: string; readonly password: string } | undefined
  /** The field or variable that names it. */
  readonly from: string
}

const defaultPorts = { http: 80, https: 443, socks5: 1080 }

/** Undefined: there is none. Fails with `invalid_request` if it is none that we can use. */
export function forwardProxyFor(
  server: URL,
  proxyUrl: string,
  env: Readonly<Record<string, string | undefined>>,
): ForwardProxy | undefined {
  const named = proxyFromEnvironment(server, env)
  const [from, text] =
    proxyUrl === '' ? [named?.variable ?? '', named?.text ?? ''] : ['proxy-url', proxyUrl]
  if (text === '') return undefined
  // Variables often have HOST:PORT alone; a field of a cluster never does.
  const isPlain = from !== 'proxy-url' && !text.includes('://')
  const proxy = parsed(isPlain ? `http://${text}` : text)
  if (proxy === undefined) {
    throw new CacheError(
      'invalid_request',
      `${from} is no URL of a proxy that can be used; it must be http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT`,
    )
  }
  if (server.protocol === 'https:') return { ...proxy, from }
  throw new CacheError(
    'invalid_request',
    `${from} cannot be used with ${server.origin}: proxies are used for https servers only`,
  )
}

function parsed(text: string): Omit<ForwardProxy, 'from'> | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const type = url?.protocol.slice(0, -1)
  if (url === undefined || url.hostname === '') return undefined
  if (type !== 'http' && type !== 'https' && type !== 'socks5') return undefined
  const hasUser = url.username !== '' || url.password !== ''
  return {
    type,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? defaultPorts[type] : Number(url.port),
    user: hasUser ? { name: decoded(url.username), password: decoded(url.password) } : undefined,
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
