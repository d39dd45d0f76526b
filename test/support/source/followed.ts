/** Mirrors of a made-up API, and what they have told. */

import { createRandom } from '../../../lib/base/random.ts'
import { type Key, keyFromText, prefixRange } from '../../../lib/base/keys.ts'
import { noMetrics } from '../../../lib/cache/mirror/metrics.ts'
import { defaultHistory } from '../../../lib/cache/mirror/limits.ts'
import type {
  KeyspaceDescription,
  MirrorSink,
} from '../../../lib/cache/mirror/mirrored-keyspace.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import type { Resource } from '../../../lib/kube/resources/resource.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ApiMirrors, type ApiMirrorsOptions } from '../../../lib/source/api-mirrors.ts'
import type { FakeClock } from '../fake-clock.ts'
import { silentLogger } from '../silent-logger.ts'

export const configMaps: Key = keyFromText('/registry/configmaps/')

export const followedDescription: KeyspaceDescription = {
  name: configMaps,
  range: prefixRange(configMaps),
  history: defaultHistory,
}

/** ConfigMaps, as if they were stored in JSON. */
export const configMapVersions: readonly Resource[] = builtInResources(schemaOf())
  .filter(({ resource }) => resource === 'configmaps')
  .map(one => ({ ...one, storage: one.storage && { ...one.storage, encoding: 'json' } }))

export const silentSink: MirrorSink = {
  applied() {},
  progressed() {},
  reset() {},
  stateChanged() {},
}

export function followedBy(
  clock: FakeClock,
  options: Pick<ApiMirrorsOptions, 'upstream'> & Partial<ApiMirrorsOptions>,
): ApiMirrors {
  const mirrors = new ApiMirrors({
    clock,
    random: createRandom(7),
    logger: silentLogger,
    metrics: noMetrics,
    sink: silentSink,
    versionsOf: () => configMapVersions,
    isWantedAtStart: () => true,
    ...options,
  })
  mirrors.add(followedDescription)
  return mirrors
}
