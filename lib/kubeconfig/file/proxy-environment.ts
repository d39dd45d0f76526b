/** The proxy that the environment names for a URL, by the rules of Go's `http.ProxyFromEnvironment`
 *  (golang.org/x/net/http/httpproxy), which kubectl follows where a cluster has no `proxy-url`. */

import { BlockList, isIP } from 'node:net'
import { isLoopback } from '@watchglass/base'

type Environment = Readonly<Record<string, string | undefined>>

/** The variable and its text; undefined if no proxy is to be used. */
export function proxyFromEnvironment(
  url: URL,
  env: Environment,
): { readonly variable: string; readonly text: string } | undefined {
  const names =
    url.protocol === 'https:' ? ['HTTPS_PROXY', 'https_proxy'] : ['HTTP_PROXY', 'http_proxy']
  const variable = names.find(name => (env[name] ?? '') !== '')
  if (variable === undefined) return undefined
  const excluded = env['NO_PROXY'] || env['no_proxy'] || ''
  const text = env[variable] ?? ''
  return isExcluded(url, excluded) ? undefined : { variable, text }
}

function isExcluded(url: URL, excluded: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (isLoopback(host)) return true
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return excluded
    .split(',')
    .map(entry => entry.trim().toLowerCase())
    .some(entry => entry !== '' && matches(entry, host, port))
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [, network, length] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? []
  if (network !== undefined) return isInNetwork(host, network, Number(length))
  const [, name = '', wantedPort = port] =
    isIP(entry) > 0 ? [entry, entry] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? [])
  if (wantedPort !== port) return false
  const wanted = name.replace(/^\[|\]$/g, '')
  if (isIP(wanted) > 0) return isInNetwork(host, wanted, isIP(wanted) === 4 ? 32 : 128)
  // A name stands for its subdomains, too; with a dot or `*.` before it, for them alone.
  const suffix = wanted.replace(/^\*\./, '.')
  if (suffix.startsWith('.')) return host.endsWith(suffix)
  return host === suffix || host.endsWith(`.${suffix}`)
}

function isInNetwork(host: string, network: string, length: number): boolean {
  const version = isIP(network)
  if (version === 0 || isIP(host) !== version || length > (version === 4 ? 32 : 128)) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const networks = new BlockList()
  networks.addSubnet(network, length, family)
  return networks.check(host, family)
}
