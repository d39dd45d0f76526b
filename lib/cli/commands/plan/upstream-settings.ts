/** The connection to the upstream that the options ask for. Files are read once, here; the token
 *  file is read again. */

import { authoritiesOf, fileOf, type KeyPair, keyPairOf } from './files.ts'
import type { OptionValues } from '../../options/option-values.ts'
import { checkRules, listedValuesOf, valueOf } from '../../options/rules.ts'
import { upstreamOption, upstreamOptions, upstreamTimeoutOption } from '../../options/upstream.ts'

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
  const urls = listedValuesOf(values, upstreamOption)
  if (urls.length === 0) {
    checkRules(values, upstreamOptions)
    return undefined
  }
  // Read again for each use; a file that is missing at start is a mistake in the options.
  fileOf(values, 'upstream-token-file')
  return {
    urls,
    ca: authoritiesOf(values, 'upstream-ca'),
    own: keyPairOf(values, 'upstream-cert', 'upstream-key'),
    tokenFile: values.text('upstream-token-file'),
    answerMs: valueOf(values, upstreamTimeoutOption) * 1000,
  }
}
