/** The mirrors of a service: one for its etcd, and one for each other etcd that keeps some of the
 *  prefixes. */

import { inRange, keyFromText, type KeyRange, prefixRange } from '@watchglass/base'
import type { Client } from '@watchglass/etcd'
import type { Checkpoint } from './checkpoint.ts'
import { MirrorSet } from './mirror-set.ts'
import { Mirror, type MirrorOptions } from './mirror.ts'
import { rangesWithout } from './feed/ranges.ts'

/** An etcd that keeps what lies below some prefixes. */
export interface OtherEtcd {
  readonly client: Client
  readonly prefixes: readonly string[]
}

export interface MirrorsOptions {
  readonly client: Client
  /** Contents that the first etcd had before. */
  readonly checkpoint?: Checkpoint | undefined
  readonly others?: readonly OtherEtcd[] | undefined
  /** etcd prefixes that are neither mirrored nor served. */
  readonly excluded?: readonly string[] | undefined
  /** Prefixes to follow, beside those that other etcds keep. */
  readonly prefixes: readonly string[]
}

/** Mirrors that are not started. The first etcd is followed wherever no other one is, and nothing
 *  is excluded. */
export function createMirrors(
  { client, checkpoint, others = [], excluded = [], prefixes }: MirrorsOptions,
  common: Omit<MirrorOptions, 'client' | 'ranges' | 'checkpoint'>,
): MirrorSet {
  const elsewhere = [...excluded, ...others.flatMap(({ prefixes }) => prefixes)].map(rangeBelow)
  const ranges = rangesOf(prefixes).flatMap(range => rangesWithout(range, elsewhere))
  const mirrors = [
    new Mirror({ ...common, client, checkpoint, ranges }),
    ...others.map(
      other =>
        new Mirror({ ...common, client: other.client, ranges: other.prefixes.map(rangeBelow) }),
    ),
  ]
  return new MirrorSet(mirrors, common.limits)
}

/** A stream for each prefix that does not lie below another one. */
function rangesOf(prefixes: readonly string[]): KeyRange[] {
  const ranges: KeyRange[] = []
  for (const one of [...prefixes].sort((a, b) => a.length - b.length)) {
    const range = prefixRange(keyFromText(one))
    if (!ranges.some(known => inRange(range.start, known))) ranges.push(range)
  }
  return ranges
}

function rangeBelow(prefix: string): KeyRange {
  return prefixRange(keyFromText(prefix))
}
