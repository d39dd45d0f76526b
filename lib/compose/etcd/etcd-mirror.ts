/** The mirror behind `--etcd-listen`: every key of some prefixes, whatever it holds. */

import type { Clock } from '../../base/clock.ts'
import { type Key, inRange, keyFromText, prefixRange } from '../../base/keys.ts'
import type { Logger } from '../../base/logger.ts'
import type { Client } from '../../etcd/client.ts'
import { defaultLimits } from '../../mirror/limits.ts'
import { EtcdView } from '../../mirror/etcd-view.ts'
import { MirrorSet } from '../../mirror/mirror-set.ts'
import { Mirror } from '../../mirror/mirror.ts'
import type { Metrics } from '../../ops/metrics.ts'
import { systemRandom } from '../../ops/system.ts'
import type { HistoryBounds } from '../../store/history.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import { Followers } from '../../upkeep/followers.ts'
import { SlabKeeper } from '../../upkeep/slab-keeper.ts'

export interface EtcdMirrorOptions {
  readonly client: Client
  /** How the keys begin. None of them begins like another one. */
  readonly prefixes: readonly string[]
  /** The bounds of the history; the default ones if it is left out. */
  readonly history?: HistoryBounds | undefined
  readonly clock: Clock
  readonly metrics: Metrics
  readonly logger: Logger
}

export interface EtcdMirror {
  readonly view: EtcdView
  readonly mirrors: MirrorSet
  /** Told of every change. */
  readonly followers: Followers
}

/** One history for all keys: a client that was away for so long finds its place again without asking etcd. */
const defaultHistory: HistoryBounds = {
  maxBatches: 500_000,
  maxAgeMs: 10 * 60_000,
  maxBytes: 512 * 1024 * 1024,
}

/** A mirror that is not started. */
export function createEtcdMirror(options: EtcdMirrorOptions): EtcdMirror {
  const { client, clock, logger, metrics, history = defaultHistory } = options
  const places = options.prefixes.map(prefix => ({
    name: `etcd ${prefix === '' ? 'all' : prefix}`,
    range: prefixRange(keyFromText(prefix)),
  }))
  const followers = new Followers()
  const mirror = new Mirror({
    client,
    clock,
    random: systemRandom,
    limits: defaultLimits,
    logger,
    metrics: metrics.mirror,
    sink: followers,
    ranges: places.map(({ range }) => range),
    keyspaceOf: (key: Key) => places.find(({ range }) => inRange(key, range))?.name,
  })
  const mirrors = new MirrorSet([mirror])
  for (const place of places) mirrors.add({ ...place, history })
  const view = new EtcdView({ mirror, client, keyspaces: places.map(({ name }) => name) })
  const contents = (): Snapshot[] => places.map(({ name }) => mirror.keyspace(name).store.latest())
  followers.add(new SlabKeeper({ latest: contents, clock, logger }), view)
  return { view, mirrors, followers }
}
