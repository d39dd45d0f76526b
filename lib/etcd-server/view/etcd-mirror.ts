/** The mirror behind `--etcd-listen`: every key of some prefixes, whatever it holds. */

import {
  type Clock,
  inRange,
  type Key,
  keyFromText,
  type Logger,
  prefixRange,
  type Random,
} from '@watchglass/base'
import type { Client } from '@watchglass/etcd'
import {
  type Checkpoint,
  defaultLimits,
  Mirror,
  type MirrorMetrics,
  MirrorSet,
  type MirrorSink,
} from '@watchglass/cache'
import { EtcdView } from './etcd-view.ts'
import type { HistoryBounds } from '@watchglass/store'

export interface EtcdMirrorOptions {
  readonly client: Client
  /** Contents that it had before. */
  readonly checkpoint?: Checkpoint | undefined
  /** Prefixes of the keys. None of them begins like another one. */
  readonly prefixes: readonly string[]
  /** The bounds of the history; the default ones if it is left out. */
  readonly history?: HistoryBounds | undefined
  readonly clock: Clock
  readonly random: Random
  readonly metrics: MirrorMetrics
  /** Told of every change; to pass it on to the view. */
  readonly sink: MirrorSink
  readonly logger: Logger
}

export interface EtcdMirror {
  readonly view: EtcdView
  readonly mirrors: MirrorSet
}

/** One history for all keys: a client that was away for so long finds its place again without
 *  asking etcd. */
const defaultHistory: HistoryBounds = {
  maxBatches: 500_000,
  maxAgeMs: 10 * 60_000,
  maxBytes: 512 * 1024 * 1024,
}

/** A mirror that is not started. */
export function createEtcdMirror(options: EtcdMirrorOptions): EtcdMirror {
  const { client, checkpoint, clock, random, logger, metrics, sink } = options
  const { history = defaultHistory } = options
  const places = options.prefixes.map(prefix => ({
    name: `etcd ${prefix === '' ? 'all' : prefix}`,
    range: prefixRange(keyFromText(prefix)),
  }))
  const mirror = new Mirror({
    client,
    checkpoint,
    clock,
    random,
    limits: defaultLimits,
    logger,
    metrics,
    sink,
    ranges: places.map(({ range }) => range),
    keyspaceOf: (key: Key) => places.find(({ range }) => inRange(key, range))?.name,
  })
  const mirrors = new MirrorSet([mirror])
  for (const place of places) mirrors.add({ ...place, history })
  return {
    mirrors,
    view: new EtcdView({ mirror, client, keyspaces: places.map(({ name }) => name) }),
  }
}
