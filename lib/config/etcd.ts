/** The options of every command that connects to etcd, and the connection made from them. Files are
 *  read once, here. */

import { CacheError } from '../base/errors.ts'
import { authoritiesOf, keyPairOf } from './files.ts'
import type { Option } from './option.ts'
import { listed, type OptionValues } from './option-values.ts'

/** The endpoints of etcd. A command that accepts more than addresses has its own row. */
export const etcdOption: Option = {
  name: 'etcd',
  value: 'URL',
  many: true,
  fallback: 'http://127.0.0.1:2379',
  help: 'An endpoint of etcd, such as https://10.0.0.1:2379; several are separated by commas.',
}

/** TLS and users. */
export const etcdCredentialOptions: readonly Option[] = [
  {
    name: 'etcd-cacert',
    value: 'FILE',
    help: 'Certificate authorities (PEM) for the server certificate of etcd. All certificates are read again when they change.',
  },
  {
    name: 'etcd-cert',
    value: 'FILE',
    help: 'The client certificate (PEM) for connections to etcd. Needs --etcd-key.',
  },
  {
    name: 'etcd-key',
    value: 'FILE',
    help: 'The key (PEM) of --etcd-cert.',
  },
  {
    name: 'etcd-user',
    value: 'NAME:PASSWORD',
    help: 'The user to log in to etcd as. Prefer the environment variable: other users of the machine can see arguments.',
  },
]

/** The settings of the etcd client. */
export interface EtcdConnection {
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls | undefined
  readonly user?: { readonly name: string; readonly password: string } | undefined
}

/** The contents of the files. */
export interface EtcdTls {
  readonly ca?: Buffer | undefined
  readonly cert?: Buffer | undefined
  readonly key?: Buffer | undefined
}

/** The connection that the options ask for, to the endpoints of `--etcd` or to others with the same
 *  credentials. */
export function etcdConnection(
  values: OptionValues,
  endpoints: readonly string[] = values.all('etcd'),
): EtcdConnection {
  return {
    endpoints: endpoints.flatMap(text => text.split(',')).map(text => text.trim()),
    tls: tlsFrom(values),
    user: userFrom(values.text('etcd-user')),
  }
}

function tlsFrom(values: OptionValues): EtcdTls | undefined {
  const ca = authoritiesOf(values, 'etcd-cacert')
  const own = keyPairOf(values, 'etcd-cert', 'etcd-key')
  return ca === undefined && own === undefined ? undefined : { ca, ...own }
}

/** Errors leave the value out: it may be a password. */
function userFrom(text: string | undefined): EtcdConnection['user'] {
  if (text === undefined) return undefined
  const colon = text.indexOf(':')
  if (colon <= 0) {
    throw new CacheError('invalid_request', '--etcd-user is not of the form NAME:PASSWORD')
  }
  return { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** True if etcd is to be in this process. Fails if something else that was asked for does not go
 *  with that. */
export function isEmbedded(values: OptionValues): boolean {
  const endpoints = listed(values, 'etcd')
  if (endpoints.join() === 'embedded') {
    if (values.text('upstream') === undefined) return true
    throw invalid('--upstream needs --etcd: the etcd that this API server uses')
  }
  if (endpoints.includes('embedded')) throw invalid('--etcd embedded goes with no other endpoint')
  for (const name of ['load', 'speed', 'generate', 'churn', 'data-dir', 'durability']) {
    if (values.text(name) !== undefined) throw invalid(`--${name} is for --etcd embedded only`)
  }
  return false
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
