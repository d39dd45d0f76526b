/** The options of etcd's own API: where it is served, and to whom. */

import type { Option } from './option.ts'

export const etcdListenOptions: readonly Option[] = [
  {
    name: 'etcd-listen',
    value: 'HOST:PORT',
    help: 'Serves the API of etcd at this address: ranges and watches from the mirror, everything else from etcd. With --etcd embedded, the API of that. Without a certificate on loopback addresses only.',
  },
  {
    name: 'etcd-listen-cert',
    value: 'FILE',
    help: 'The server certificate (PEM) of --etcd-listen. Read again when it changes. Needs --etcd-listen-key.',
  },
  {
    name: 'etcd-listen-key',
    value: 'FILE',
    help: 'The key (PEM) of --etcd-listen-cert.',
  },
  {
    name: 'etcd-listen-client-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) of the clients of --etcd-listen: each must have a certificate of one of them.',
  },
  {
    name: 'etcd-listen-allow',
    value: 'NAME=PREFIX[,PREFIX...]',
    many: true,
    help: 'Limits clients to keys with these prefixes, by the common name of their certificate: apiserver=/registry/,compact_rev_key. A prefix after read: may only be read. Names without a rule are refused. Without this option every client may do everything.',
  },
  {
    name: 'etcd-listen-prefix',
    value: 'PREFIX',
    many: true,
    help: 'Keys that --etcd-listen answers from the mirror, by how they begin: /skydns/, or all. Separate several with commas. Default: everything below --prefix.',
  },
]
