/** The options of the upstream. */

import { isUpstreamMirrored } from './etcd.ts'
import { addressIn, type ListenAddress } from './listening.ts'
import type { DefaultedOption, Option, OptionRule, ParsedOption } from './option.ts'
import { given } from './rules.ts'

const needsUpstream: readonly OptionRule[] = [{ that: given('upstream') }]

export const upstreamOption: ParsedOption<URL> = {
  name: 'upstream',
  value: 'URL',
  many: true,
  help: 'The API server behind Watchglass: every request that the mirror cannot answer goes there. Without --etcd, it is mirrored itself. Separate several servers of one cluster with commas.',
  parse(text) {
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isServer = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/'
    return isServer && url.username === '' && url.search === '' && url.hash === '' ? url : undefined
  },
  wrong: 'is not an address such as https://10.0.0.1:6443',
}

export const mirrorOption: Option = {
  name: 'mirror',
  value: 'RESOURCE',
  many: true,
  fallback: 'on-demand',
  help: 'Without --etcd, where the upstream itself is mirrored: all, or the resources, such as pods,nodes, that are mirrored from the start. on-demand: each when it is first listed or watched.',
  needs: [{ that: isUpstreamMirrored }],
}

const namespace: Omit<ParsedOption<string>, 'help'> = {
  name: 'namespaces',
  value: 'NAMESPACE',
  many: true,
  parse: text =>
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text) && text.length <= 63 ? text : undefined,
  wrong: 'is not a name of a namespace',
}

/** The option of `serve`. */
export const namespacesOption: ParsedOption<string> = {
  ...namespace,
  help: 'Without --etcd: mirrors only these namespaces, such as team-a,team-b, so that a Role in each is enough. Requests for other namespaces, or for all of them, pass to the upstream.',
  needs: [{ that: isUpstreamMirrored }],
}

/** The option of `proxy`, where the cluster is mirrored in any case. */
export const proxiedNamespacesOption: ParsedOption<string> = {
  ...namespace,
  help: 'Mirrors only these namespaces, such as team-a,team-b: for a user who may read no others. Requests for other namespaces, or for all of them, pass to the cluster.',
}

/** In seconds. */
export const upstreamTimeoutOption: DefaultedOption<number> = {
  name: 'upstream-timeout',
  value: 'SECONDS',
  fallback: '75',
  help: 'How long to wait for the upstream to start a response, or to continue it. Watches, logs and other long requests have no such limit.',
  parse(text) {
    const seconds = /^(\d{1,5})s?$/.exec(text)?.[1]
    return seconds === undefined || seconds === '0' ? undefined : Number(seconds)
  },
  wrong: 'is not a number of seconds above 0',
  needs: needsUpstream,
}

export const compatibleWithOption: ParsedOption<number> = {
  name: 'compatible-with',
  value: 'MINOR',
  many: true,
  help: 'Other minor versions of Kubernetes, such as 1.39, that are like the newest one known here. Without this, their objects are answered from the mirror once they were compared, and pages, bookmarks and refusals are left to the upstream.',
  parse(text) {
    const minor = /^(?:v?1\.)?(\d{1,3})$/.exec(text)?.[1]
    return minor === undefined ? undefined : Number(minor)
  },
  wrong: 'is not a minor version such as 1.35',
  needs: needsUpstream,
}

/** A share from 0 to 1. */
export const compareOption: DefaultedOption<number> = {
  name: 'compare',
  value: 'SHARE',
  fallback: '0%',
  help: "Compares this share of the answers from the mirror with the upstream's, such as 0.1%. Counts the results and logs the first differences.",
  parse(text) {
    const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1]
    const share = Number(percent) / 100
    return percent === undefined || share > 1 ? undefined : share
  },
  wrong: 'is not a percentage such as 0.1%',
  needs: needsUpstream,
}

export const adminListenOption: ParsedOption<ListenAddress | 'none'> = {
  name: 'admin-listen',
  value: 'URL',
  help: "The address of Watchglass's own page, /metrics, /livez, /readyz, /version, /pass-through and /log-level. Default: http://127.0.0.1:8002 with --upstream; without it they are on --listen.",
  parse: text => (text === 'none' ? text : addressIn(text)),
  wrong: 'is not an address such as http://127.0.0.1:8001',
}

/** The address of the upstream, and our credentials for it. */
export const upstreamOptions: readonly Option[] = [
  upstreamOption,
  {
    name: 'upstream-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) for the server certificate of the upstream.',
    needs: needsUpstream,
  },
  {
    name: 'upstream-cert',
    value: 'FILE',
    help: "Watchglass's own client certificate (PEM) for the upstream, used for its own requests only: discovery, probes, access reviews. Needs --upstream-key.",
    needs: needsUpstream,
  },
  {
    name: 'upstream-key',
    value: 'FILE',
    help: 'The key (PEM) of --upstream-cert.',
    needs: needsUpstream,
  },
  {
    name: 'upstream-token-file',
    value: 'FILE',
    help: "Watchglass's own bearer token for the upstream, used for its own requests only. Read again when it changes.",
    needs: needsUpstream,
  },
  upstreamTimeoutOption,
  compatibleWithOption,
  mirrorOption,
  namespacesOption,
  {
    name: 'cache-only',
    value: 'RESOURCE',
    many: true,
    help: 'Mirror and serve only these resources, such as pods,nodes,widgets.example.com. All others go to the upstream.',
    needs: needsUpstream,
  },
  {
    name: 'never-cache',
    value: 'RESOURCE',
    many: true,
    help: 'Never mirror or serve these resources. They go to the upstream.',
    needs: needsUpstream,
  },
  {
    name: 'discover-resources',
    help: 'Beside an aggregated API server: also serves the resources that it lists, once their keys are found in its etcd at PREFIX/GROUP/RESOURCE.',
    needs: needsUpstream,
  },
  compareOption,
  adminListenOption,
]

/** Also for a server without an upstream. */
export const metricsNamesOption: Option = {
  name: 'metrics-names',
  value: 'NAMES',
  choices: ['watchglass', 'kube-apiserver'],
  help: 'Whose names /metrics has: watchglass, or kube-apiserver for the names of both, as clusterloader2, kube-burner and dashboards of kube-apiserver read them. Default: kube-apiserver without --upstream, watchglass with it.',
}

/** Also for a server without an upstream. */
export const otlpOption: Option = {
  name: 'otlp-endpoint',
  value: 'URL',
  help: 'Sends traces to this OpenTelemetry collector, by OTLP over HTTP: a span for each request, and for its stages. The W3C trace of a client is continued, also to the upstream; a trace that the client does not record is not recorded. Needs the packages @opentelemetry/..., which npm installs unless it is told --omit=optional.',
}
