/** The options of every command that connects to etcd, and what they become. */

import type { OptionCondition, Option, OptionRule } from './option.ts'
import { listed, type OptionValues } from './option-values.ts'

/** The upstream itself is mirrored: there is one, and no etcd. */
export const isUpstreamMirrored: OptionCondition = {
  text: '--upstream without --etcd',
  holds: values => isNoOtherEtcd(values) && listed(values, 'upstream').length > 0,
}

/** The etcd is one in this process. */
export const isOwnEtcd: OptionCondition = {
  text: '--etcd embedded',
  holds: values => isNoOtherEtcd(values) && !isUpstreamMirrored.holds(values),
}

/** Only an etcd that is there has to be named. */
function isNoOtherEtcd(values: OptionValues): boolean {
  return listed(values, 'etcd').join() === 'embedded'
}

/** The rule of the options of an etcd in this process. */
export const onlyEmbedded: OptionRule = { that: isOwnEtcd, says: 'is for --etcd embedded only' }

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
