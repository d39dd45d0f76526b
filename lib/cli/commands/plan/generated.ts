/** The options that say where Kubernetes objects are in etcd, and what draws made-up data
 *  follow. */

import { CacheError } from '@watchglass/base'
import type { OptionValues } from '../../options/option-values.ts'

/** The etcd prefix of all Kubernetes objects, without a slash at its end. */
export function prefixOf(values: OptionValues): string {
  const prefix = values.text('prefix') ?? ''
  if (!/^\/[^/]+(?:\/[^/]+)*$/.test(prefix)) {
    throw new CacheError(
      'invalid_request',
      `--prefix "${prefix}" must begin with a slash and not end with one, such as /registry`,
    )
  }
  return prefix
}

/** The seed of every draw, so that the same options make the same data. */
export function seedOf(values: OptionValues): number {
  const text = values.text('seed') ?? ''
  if (!/^\d{1,10}$/.test(text) || Number(text) >= 2 ** 32) {
    throw new CacheError(
      'invalid_request',
      `--seed "${text}" is not a whole number from 0 to ${2 ** 32 - 1}`,
    )
  }
  return Number(text)
}
