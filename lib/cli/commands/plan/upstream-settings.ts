/** The connection to the upstream that the options ask for. Files are read once, here; the token
 *  file is read again. */

import { CacheError } from '@watchglass/base'
import { authoritiesOf, fileOf, type KeyPair, keyPairOf } from './files.ts'
import { listed, type OptionValues } from '../../options/option-values.ts'
import { upstreamOptions } from '../upstream-options.ts'

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
