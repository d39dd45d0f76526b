/** The URL of a cluster's `server`, by client-go's rule (`rest/url_utils.go`, `DefaultServerURL`):
 *  a text without a scheme is a host, of https only if the cluster says something of TLS. */

import { CacheError } from '@watchglass/base'
import type { KubeconfigCluster } from './kubeconfig.ts'

export function serverUrl({ server, authority, isUnverified }: KubeconfigCluster): URL {
  if (server === '') {
    throw new CacheError('invalid_request', 'it has no server; add one: https://HOST:PORT')
  }
  const isTls = authority.data !== undefined || authority.path !== '' || isUnverified
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(server)
    ? server
    : `http${isTls ? 's' : ''}://${server}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isUsable = url !== undefined && /^https?:$/.test(url.protocol) && url.hostname !== ''
  if (!isUsable || url.username !== '' || url.password !== '') {
    throw new CacheError(
      'invalid_request',
      `server ${JSON.stringify(server)} is no address of an API server; it must be https://HOST:PORT`,
    )
  }
  url.search = ''
  url.hash = ''
  return url
}
