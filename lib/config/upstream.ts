/** The options of the upstream, and what they come to. Files are read once, here, but for the token. */

import { CacheError } from '../base/errors.ts'
import { authoritiesOf, fileOf, type KeyPair, keyPairOf } from './files.ts'
import type { OptionValues } from './load.ts'
import type { Option } from './option.ts'

/** Where the upstream is, and who we are to it. */
export const upstreamOptions: readonly Option[] = [
  {
    name: 'upstream',
    value: 'URL',
    many: true,
    help: 'The API server to stand in front of: whatever the mirror does not answer goes there. Several servers of one cluster are separated by commas.',
  },
  {
    name: 'upstream-ca',
    value: 'FILE',
    help: 'Authorities (PEM) that may sign the certificate of the upstream.',
  },
  {
    name: 'upstream-cert',
    value: 'FILE',
    help: 'Our own client certificate (PEM), for our own questions only: discovery, probes, reviews. Needs --upstream-key.',
  },
  { name: 'upstream-key', value: 'FILE', help: 'Its key (PEM).' },
  {
    name: 'upstream-token-file',
    value: 'FILE',
    help: 'Our own token, for our own questions only. Read again when it changes.',
  },
  {
    name: 'upstream-timeout',
    value: 'SECONDS',
    fallback: '75',
    help: 'How long the upstream may take to begin an answer, or to go on with it. Watches, logs and the like have no such limit.',
  },
  {
    name: 'compatible-with',
    value: 'MINOR',
    many: true,
    help: 'Other minor versions of Kubernetes, such as 1.35, whose built-in resources are answered from the mirror as well.',
  },
  {
    name: 'cache-only',
    value: 'RESOURCE',
    many: true,
    help: 'The only resources that are kept and answered here: pods,nodes,widgets.example.com. All others pass.',
  },
  {
    name: 'never-cache',
    value: 'RESOURCE',
    many: true,
    help: 'Resources that are never kept nor answered here: they pass.',
  },
  {
    name: 'discover-resources',
    help: 'Beside an aggregated API server: serves what it lists and nothing declares, as soon as it is found in its etcd at PREFIX/GROUP/RESOURCE.',
  },
  {
    name: 'compare',
    value: 'SHARE',
    fallback: '0%',
    help: 'Asks the upstream the same for a share of what is answered here, such as 0.1%; compares, counts, and logs the first differences.',
  },
  {
    name: 'admin-listen',
    value: 'URL',
    help: 'Where our own /metrics, /livez, /readyz, /version and /pass-through are: http://127.0.0.1:8002 with an upstream, which has these paths on --listen; none otherwise.',
  },
]

/** What the connection to the upstream is made from. */
export interface UpstreamConnection {
  readonly urls: readonly URL[]
  readonly ca?: Buffer | undefined
  readonly own?: KeyPair | undefined
  readonly tokenFile?: string | undefined
  readonly answerMs: number
}

/** The upstream that the options name; undefined if they name none. */
export function upstreamConnection(values: OptionValues): UpstreamConnection | undefined {
  const urls = listed(values, 'upstream').map(urlOf)
  if (urls.length === 0) {
    const stray = upstreamOptions.find(
      ({ name, fallback }) => name !== 'admin-listen' && values.text(name) !== fallback,
    )
    if (stray !== undefined) throw invalid(`--${stray.name} needs --upstream`)
    return undefined
  }
  // Read again for each use, but what is not there at start is a mistake.
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
      if (minor === undefined) throw invalid(`--compatible-with "${text}" is not such as 1.35`)
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

/** The share of `--compare`, of 1. */
export function compareShare(values: OptionValues): number {
  const text = values.text('compare') ?? ''
  const percent = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text)?.[1]
  const share = Number(percent) / 100
  if (percent === undefined || share > 1) throw invalid(`--compare "${text}" is not such as 0.1%`)
  return share
}

function secondsOf(text: string): number {
  const seconds = /^(\d{1,5})s?$/.exec(text)?.[1]
  if (seconds === undefined || seconds === '0') {
    throw invalid(`--upstream-timeout "${text}" is not a number of seconds`)
  }
  return Number(seconds)
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
