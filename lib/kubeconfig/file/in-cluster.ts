/** The service account of the pod that we run in, as a context: what client-go falls back to where
 *  no kubeconfig chooses one (`rest.InClusterConfig`). */

import { isIPv6 } from 'node:net'
import type { KubeconfigSystem } from '../system.ts'
import type { ChosenContext } from './choose.ts'
import { forwardProxyFor } from './forward-proxy.ts'
import type { KubeconfigUser } from './kubeconfig.ts'

const folder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Undefined where there is none. */
export async function inClusterContext({
  env,
  readFile,
}: Pick<KubeconfigSystem, 'env' | 'readFile'>): Promise<ChosenContext | undefined> {
  const [host = '', port = ''] = [env['KUBERNETES_SERVICE_HOST'], env['KUBERNETES_SERVICE_PORT']]
  const textOf = (file: string): Promise<string> =>
    readFile(`${folder}/${file}`).then(
      bytes => bytes.toString().trim(),
      () => '',
    )
  if (host === '' || port === '' || (await textOf('token')) === '') return undefined
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`
  const hasAuthority = (await textOf('ca.crt')) !== ''
  const url = new URL(server)
  const origin = { name: 'in-cluster', file: folder }
  return {
    name: origin.name,
    url,
    proxy: forwardProxyFor(url, '', env),
    namespace: env['POD_NAMESPACE'] || (await textOf('namespace')) || 'default',
    cluster: {
      ...origin,
      server,
      authority: { data: undefined, path: hasAuthority ? `${folder}/ca.crt` : '' },
      tlsServerName: '',
      isUnverified: false,
      proxyUrl: '',
      isUncompressed: false,
      pluginConfig: undefined,
    },
    user: { ...nobody, ...origin, tokenFile: `${folder}/token` },
  }
}

const noPem = { data: undefined, path: '' }

const nobody: Omit<KubeconfigUser, 'name' | 'file'> = {
  certificate: noPem,
  key: noPem,
  token: '',
  tokenFile: '',
  username: '',
  password: '',
  impersonation: { user: '', uid: '', groups: [], extra: {} },
  exec: undefined,
  authProvider: undefined,
}
