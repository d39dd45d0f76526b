/** The options of etcd's own API: where it is served, and to whom. */

import type { Option, OptionRule, ParsedOption } from './option.ts'
import { all, given, together } from './rules.ts'

/** HOST:PORT, and the host in it. */
export interface EtcdAddress {
  readonly address: string
  readonly host: string
}

/** The keys that a client may use, by how they begin. */
export interface AllowedRule {
  readonly name: string
  readonly prefixes: readonly string[]
}

export const etcdListenOption: ParsedOption<EtcdAddress> = {
  name: 'etcd-listen',
  value: 'HOST:PORT',
  help: 'Serves the API of etcd at this address: ranges and watches from the mirror, everything else from etcd. With --etcd embedded, the API of that. With --upstream and no --etcd, read only: ranges and watches of one resource each. Without a certificate on loopback addresses only.',
  parse(address) {
    const [, bracketed] = /^(\[[0-9a-fA-F:.]+\]|[^:/[\]]+):\d{1,5}$/.exec(address) ?? []
    const host = bracketed?.replace(/^\[|\]$/g, '')
    return host === undefined ? undefined : { address, host }
  },
  wrong: 'is not HOST:PORT, such as 127.0.0.1:2379',
}

const pair: OptionRule = together('etcd-listen-cert', 'etcd-listen-key')

export const etcdListenFileOptions: readonly Option[] = [
  {
    name: 'etcd-listen-cert',
    value: 'FILE',
    help: 'The server certificate (PEM) of --etcd-listen. Read again when it changes. Needs --etcd-listen-key.',
    needs: [pair, { that: given('etcd-listen') }],
  },
  {
    name: 'etcd-listen-key',
    value: 'FILE',
    help: 'The key (PEM) of --etcd-listen-cert.',
    needs: [pair],
  },
  {
    name: 'etcd-listen-client-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) of the clients of --etcd-listen: each must have a certificate of one of them.',
    needs: [{ that: all(given('etcd-listen-cert'), given('etcd-listen-key')) }],
  },
]

export const etcdListenAllowOption: ParsedOption<AllowedRule> = {
  name: 'etcd-listen-allow',
  value: 'NAME=PREFIX[,PREFIX...]',
  many: true,
  help: 'Limits clients to keys with these prefixes, by the common name of their certificate: apiserver=/registry/,compact_rev_key. A prefix after read: may only be read. Names without a rule are refused. Without this option every client may do everything.',
  parse(text) {
    const [, name, list] = /^([^=]+)=(.+)$/.exec(text) ?? []
    return name === undefined || list === undefined
      ? undefined
      : { name, prefixes: list.split(',') }
  },
  wrong: 'is not NAME=PREFIX, such as cilium=cilium/',
  needs: [{ that: given('etcd-listen-client-ca'), because: 'names come from certificates' }],
}

export const etcdListenOptions: readonly Option[] = [
  etcdListenOption,
  ...etcdListenFileOptions,
  etcdListenAllowOption,
  {
    name: 'etcd-listen-prefix',
    value: 'PREFIX',
    many: true,
    help: 'Keys that --etcd-listen answers from the mirror, by how they begin: /skydns/, or all. Separate several with commas. Default: everything below --prefix.',
  },
]
