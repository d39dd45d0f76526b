/** The connection to etcd that the options ask for. Files are read once, here. */

import type { EtcdConnection, EtcdTls } from '@watchglass/etcd'
import { listed, type OptionValues } from '../../options/option-values.ts'
import { authoritiesOf, keyPairOf } from './files.ts'
import { churnOption, embeddedOptions } from '../../options/cluster.ts'
import { isOwnEtcd } from '../../options/etcd.ts'
import { invalid } from '../../options/invalid.ts'
import { checkRules } from '../../options/rules.ts'

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
    throw invalid('--etcd-user is not of the form NAME:PASSWORD')
  }
  return { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** True if etcd is to be in this process. Fails if something else that was asked for does not go
 *  with that. */
export function isEmbedded(values: OptionValues): boolean {
  if (isOwnEtcd.holds(values)) return true
  const endpoints = listed(values, 'etcd')
  if (endpoints.length > 1 && endpoints.includes('embedded')) {
    throw invalid('--etcd embedded goes with no other endpoint')
  }
  checkRules(values, [...embeddedOptions, churnOption])
  return false
}
