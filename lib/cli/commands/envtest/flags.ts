/** The flags of kube-apiserver that controller-runtime's envtest passes, and their meaning here. */

import { invalid } from '../../options/invalid.ts'

/** Flags by name, as they were given. */
export type GivenFlags = ReadonlyMap<string, readonly string[]>

/** `--name=value`, `--name value` and `--name`, as Go's pflag reads them. */
export function parseFlags(args: readonly string[]): GivenFlags {
  const flags = new Map<string, string[]>()
  for (let i = 0; i < args.length; i++) {
    const [, name, value] = /^--?([a-z][a-z0-9-]*)(?:=([\s\S]*))?$/.exec(args[i] ?? '') ?? []
    if (name === undefined) throw invalid(`"${args[i]}" is not a flag`)
    const next = args[i + 1]
    const isApart = value === undefined && next !== undefined && !next.startsWith('-')
    if (isApart) i++
    flags.set(name, [...(flags.get(name) ?? []), value ?? (isApart ? next : 'true')])
  }
  return flags
}

/** Flags that are the same option here. */
const same = [
  'token-auth-file',
  'service-account-issuer',
  'service-account-key-file',
  'service-account-signing-key-file',
  'enable-admission-plugins',
  'disable-admission-plugins',
]

/** Flags that are the same option here, with or without users. */
const ranges = ['service-cluster-ip-range', 'service-node-port-range']

/** Flags without a meaning here: what they would change is not there, or is so anyway. */
const ignored = [
  'advertise-address',
  'allow-privileged',
  'bind-address',
  'cert-dir',
  'etcd-servers',
  'insecure-bind-address',
  'insecure-port',
  'secure-port',
  'tls-cert-file',
  'tls-private-key-file',
  'client-ca-file',
  'authorization-mode',
  'v',
]

/** All flags that are understood, for `--help`: envtest looks there for some. `insecure-port` is
 *  none of them, as in kube-apiserver since 1.24. */
export const apiServerFlags: readonly string[] = [...same, ...ranges, ...ignored]
  .filter(name => !name.startsWith('insecure-'))
  .sort()

export const etcdFlags: readonly string[] = [
  'advertise-client-urls',
  'data-dir',
  'listen-client-urls',
  'listen-peer-urls',
  'unsafe-no-fsync',
]

export interface ServeArguments {
  /** Options of `serve`. */
  readonly entries: ReadonlyMap<string, readonly string[]>
  /** Flags that are not known here. */
  readonly unknown: readonly string[]
}

/** The options of `serve` for flags of kube-apiserver. */
export function serveArguments(flags: GivenFlags): ServeArguments {
  const last = (name: string): string | undefined => flags.get(name)?.at(-1)
  const host = last('bind-address') ?? '0.0.0.0'
  const port = last('secure-port') ?? '6443'
  const directory = last('cert-dir')
  const inDirectory = (file: string): string | undefined => directory && `${directory}/${file}`
  const entries = new Map<string, readonly string[]>([
    ['etcd', ['embedded']],
    ['listen', [`https://${host.includes(':') ? `[${host}]` : host}:${port}`]],
  ])
  const put = (name: string, value: string | undefined): void => {
    if (value !== undefined) entries.set(name, [value])
  }
  put('tls-cert', last('tls-cert-file') ?? inDirectory('apiserver.crt'))
  put('tls-key', last('tls-private-key-file') ?? inDirectory('apiserver.key'))
  const modes = flags.get('authorization-mode')?.flatMap(text => text.split(',')) ?? []
  if (modes.length === 0 || modes.includes('AlwaysAllow')) entries.set('auth', ['none'])
  else {
    entries.set('auth', ['rbac'])
    put('client-ca', last('client-ca-file'))
    for (const name of same) {
      const given = flags.get(name)
      if (given !== undefined) entries.set(name, given)
    }
  }
  // A second range is of IPv6, which Services do not have here.
  put('service-cluster-ip-range', last('service-cluster-ip-range')?.split(',').find(isOfIPv4))
  put('service-node-port-range', last('service-node-port-range'))
  const known = new Set([...same, ...ranges, ...ignored])
  return { entries, unknown: [...flags.keys()].filter(name => !known.has(name)) }
}

function isOfIPv4(range: string): boolean {
  return !range.includes(':')
}

/** The address at which an etcd of these flags is asked for its health. */
export function clientAddress(flags: GivenFlags): { readonly host: string; readonly port: number } {
  const text = flags.get('listen-client-urls')?.at(-1) ?? 'http://127.0.0.1:2379'
  if (!URL.canParse(text)) throw invalid(`--listen-client-urls "${text}" is not a URL`)
  const { hostname, port } = new URL(text)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port === '' ? 2379 : port) }
}
