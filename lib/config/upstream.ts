/** The options of the upstream, and the connection made from them. Files are read once, here; the
 *  token file is read again. */

import { CacheError } from '../base/errors.ts'
import { authoritiesOf, fileOf, type KeyPair, keyPairOf } from './files.ts'
import type { OptionValues } from './option-values.ts'
import type { Option } from './option.ts'

/** The address of the upstream, and our credentials for it. */
export const upstreamOptions: readonly Option[] = [
  {
    name: 'upstream',
    value: 'URL',
    many: true,
    help: 'The API server behind Watchglass: every request that the mirror cannot answer goes there. Separate several servers of one cluster with commas.',
  },
  {
    name: 'upstream-ca',
    value: 'FILE',
    help: 'Certificate authorities (PEM) for the server certificate of the upstream.',
  },
  {
    name: 'upstream-cert',
    value: 'FILE',
    help: "Watchglass's own client certificate (PEM) for the upstream, used for its own requests only: discovery, probes, access reviews. Needs --upstream-key.",
  },
  { name: 'upstream-key', value: 'FILE', help: 'The key (PEM) of --upstream-cert.' },
  {
    name: 'upstream-token-file',
    value: 'FILE',
    help: "Watchglass's own bearer token for the upstream, used for its own requests only. Read again when it changes.",
  },
  {
    name: 'upstream-timeout',
    value: 'SECONDS',
    fallback: '75',
    help: 'How long to wait for the upstream to start a response, or to continue it. Watches, logs and other long requests have no such limit.',
  },
  {
    name: 'compatible-with',
    value: 'MINOR',
    many: true,
    help: 'Other minor versions of Kubernetes, such as 1.39, that are like the newest one known here. Without this, their objects are answered from the mirror once they were compared, and pages, bookmarks and refusals are left to the upstream.',
  },
  {
    name: 'cache-only',
    value: 'RESOURCE',
    many: true,
    help: 'Mirror and serve only these resources, such as pods,nodes,widgets.example.com. All others go to the upstream.',
  },
  {
    name: 'never-cache',
    value: 'RESOURCE',
    many: true,
    help: 'Never mirror or serve these resources. They go to the upstream.',
  },
  {
    name: 'discover-resources',
    help: 'Beside an aggregated API server: also serves the resources that it lists, once their keys are found in its etcd at PREFIX/GROUP/RESOURCE.',
  },
  {
    name: 'compare',
    value: 'SHARE',
    fallback: '0%',
    help: "Compares this share of the answers from the mirror with the upstream's, such as 0.1%. Counts the results and logs the first differences.",
  },
  {
    name: 'admin-listen',
    value: 'URL',
    help: "The address of Watchglass's own page, /metrics, /livez, /readyz, /version, /pass-through and /log-level. Default: http://127.0.0.1:8002 with --upstream; without it they are on --listen.",
  },
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
  help: 'Sends traces to this OpenTelemetry collector, by OTLP over HTTP: a span for each request, and for its stages. It goes on with the W3C trace of a client, to the upstream, too; what a client does not record is not recorded. Needs the packages @opentelemetry/..., which npm installs unless it is told --omit=optional.',
}

/** The settings of the connection to the upstream. */
export interface UpstreamSettings {
  readonly urls: readonly URL[]
  readonly ca?: Buffer | undefined
  readonly own?: KeyPair | undefined
  readonly tokenFile?: string | undefined
  readonly answerMs: number
}

/** The upstream that the options name; undefined if they name none. */
export function upstreamConnection(values: OptionValues): UpstreamSettings | undefined {
  const urls = listed(values, 'upstream').map(urlOf)
  if (urls.length === 0) {
    const stray = upstreamOptions.find(
      ({ name, fallback }) => name !== 'admin-listen' && values.text(name) !== fallback,
    )
    if (stray !== undefined) throw invalid(`--${stray.name} needs --upstream`)
    return undefined
  }
  // Read again for each use; a file that is missing at start is a mistake in the options.
  fileOf(values, 'upstream-token-file')
  return {
    urls,
    ca: authoritiesOf(values, 'upstream-ca'),
    own: keyPairOf(values, 'upstream-cert', 'upstream-key'),
    tokenFile: values.text('upstream-token-file'),
    answerMs: secondsOf(values.text('upstream-timeout') ?? '') * 1000,
  }
}

/** The minor versions of `--compatible-with`. */
export function compatibleMinors(values: OptionValues): ReadonlySet<number> {
  return new Set(
    listed(values, 'compatible-with').map(text => {
      const minor = /^(?:v?1\.)?(\d{1,3})$/.exec(text)?.[1]
      if (minor === undefined) {
        throw invalid(`--compatible-with "${text}" is not a minor version such as 1.35`)
      }
      return Number(minor)
    }),
  )
}

/** Every value of an option whose values may be separated by commas, too. */
export function listed(values: OptionValues, name: string): string[] {
  const parts = values.all(name).flatMap(text => text.split(','))
  return parts.map(text => text.trim()).filter(text => text !== '')
}

function urlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isServer = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/'
  if (!isServer || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw invalid(`--upstream "${text}" is not an address such as https://10.0.0.1:6443`)
  }
  return url
}

/** The share of `--compare`, from 0 to 1. */
export function compareShare(values: OptionValues): number {
  const text = values.text('compare') ?? ''
  const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1]
  const share = Number(percent) / 100
  if (percent === undefined || share > 1) {
    throw invalid(`--compare "${text}" is not a percentage such as 0.1%`)
  }
  return share
}

function secondsOf(text: string): number {
  const seconds = /^(\d{1,5})s?$/.exec(text)?.[1]
  if (seconds === undefined || seconds === '0') {
    throw invalid(`--upstream-timeout "${text}" is not a number of seconds above 0`)
  }
  return Number(seconds)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
