/** The options that say what is mirrored, and in which forms it is served. */

import { isOwnEtcd, isUpstreamMirrored } from './etcd.ts'
import type { DefaultedOption, Option, ParsedOption } from './option.ts'

/** `1.34` of `1.34`, `v1.34` and `34`. */
function minorIn(text: string): string | undefined {
  const minor = /^(?:v?1\.)?(\d{1,3})$/.exec(text)?.[1]
  return minor === undefined ? undefined : `1.${minor}`
}

/** A resource, and the endpoints of the etcd that holds it. */
export interface HeldResource {
  readonly resource: string
  readonly endpoints: string
}

export const etcdForOption: ParsedOption<HeldResource> = {
  name: 'etcd-for',
  value: 'RESOURCE=URL',
  many: true,
  help: 'Another etcd that holds a resource, reached with the same credentials: events=http://10.0.0.2:2379. Separate several endpoints with commas.',
  parse(text) {
    const [, resource, endpoints] = /^([^=]+)=(.+)$/.exec(text) ?? []
    return resource === undefined || endpoints === undefined ? undefined : { resource, endpoints }
  },
  wrong: 'is not RESOURCE=URL, such as events=http://10.0.0.2:2379',
}

/** A file, or an address. */
export type CheckpointPlace = string | URL

export const checkpointOption: ParsedOption<CheckpointPlace> = {
  name: 'checkpoint',
  value: 'FILE|URL',
  help: 'Starts from contents of this etcd that watchglass save wrote: a file, or an https address, such as a signed one of S3. Only keys, and what has changed since, are read from etcd. A checkpoint that is damaged, or of another etcd, is left aside. Prefer the environment variable for a signed address: other users of the machine can see arguments.',
  parse(text) {
    if (!/^[a-z][\w+.-]*:\/\//.test(text)) return text === '' ? undefined : text
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isNear = url !== undefined && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
    const isAllowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && isNear)
    return isAllowed ? url : undefined
  },
  wrong: 'is neither a file nor an https address (http on this machine only)',
  excludes: [
    { that: isOwnEtcd, because: '--load fills an etcd in this process' },
    { that: isUpstreamMirrored, because: 'no etcd is mirrored' },
  ],
}

export const kubernetesVersionOption: DefaultedOption<string> = {
  name: 'kubernetes-version',
  value: 'MINOR',
  fallback: '1.36',
  help: 'The version of Kubernetes to answer as, 1.32 to 1.37. With --upstream, the upstream says which. Writes follow the rules of 1.36 in all of them.',
  parse: minorIn,
  wrong: 'is not a minor version such as 1.34',
}

export const mirroredOptions: readonly Option[] = [
  checkpointOption,
  etcdForOption,
  {
    name: 'exclude',
    value: 'RESOURCE',
    many: true,
    help: 'A resource that is neither mirrored nor served, such as secrets or widgets.example.com. Separate several with commas.',
  },
  {
    name: 'resources',
    value: 'FILE',
    help: 'A YAML list of resources that are declared nowhere in etcd, such as those of an aggregated API server.',
  },
  kubernetesVersionOption,
  {
    name: 'cbor',
    help: 'Offers CBOR beside JSON, YAML and Kubernetes protobuf. In kube-apiserver this is a feature gate that is off by default.',
  },
  {
    name: 'serve-shards',
    help: 'Obeys shardSelector of lists and watches (KEP-5866). In kube-apiserver this is a feature gate that is off by default up to 1.37, and the parameter is then ignored. With --upstream, it is obeyed even where the upstream ignores it; without this option, answers are those of the upstream.',
  },
  {
    name: 'serve-drop',
    help: 'Leaves managed fields out where the Accept header says drop=metadata.managedFields (KEP-5958). In kube-apiserver this is a feature gate that is off by default, from 1.38 on; the parameter is then ignored. With --upstream, it is obeyed even where the upstream ignores it; without this option, answers are those of the upstream.',
  },
]
