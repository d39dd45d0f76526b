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

/** An address of etcd's API. */
export interface EtcdListen {
  /** `HOST:PORT` */
  readonly address: string
  readonly tlsFiles: EtcdListenFiles | undefined
  /** Prefixes of the keys that are mirrored. An empty text: all keys. */
  readonly prefixes: readonly string[]
  /** Prefixes of the keys that each name of a certificate may read, or read and write; undefined:
   *  no limits. */
  readonly rules?: ReadonlyMap<string, AllowedTexts> | undefined
}

export interface AllowedTexts {
  readonly read: readonly string[]
  readonly write: readonly string[]
}

export interface EtcdListenFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly clientCaFile: string | undefined
  /** Which options name them, for messages. */
  readonly options?: Readonly<Record<'cert' | 'key' | 'clientCa', string>> | undefined
}
