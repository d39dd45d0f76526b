/** A real etcd with objects in it, and mirrors of it, for the benchmarks of the mirror. */

import { silentLogger } from '../../test/support/silent-logger.ts'
import { type Key, keyFromText, prefixRange } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { Mirror } from '../../lib/cache/mirror/mirror.ts'
import { type MirrorMetrics, noMetrics } from '../../lib/cache/mirror/metrics.ts'
import type { MirrorSink } from '../../lib/cache/mirror/mirrored-keyspace.ts'
import { systemClock, systemRandom } from '../../lib/cache/ops/system.ts'

/** A typical pod, as etcd stores it. */
export const valueBytes = 2500

export const mirroredPrefix = '/registry/'

/** The keyspace that is read in the benches of latency: nobody writes there. */
export const quietKeyspace = 'quiet'
export const podsKeyspace = 'pods'

const history = { maxBatches: 100_000, maxAgeMs: 300_000, maxBytes: 1e9 }

const ignoringSink: MirrorSink = {
  applied: () => {},
  progressed: () => {},
  reset: () => {},
  stateChanged: () => {},
}

/** Puts so many objects of typical size below `/registry/pods/`, and a few below
 *  `/registry/quiet/`. */
export async function fill(endpoint: string, objects: number): Promise<void> {
  const client = new GrpcClient({ endpoints: [endpoint] })
  const random = createRandom(1)
  const writing = new Set<Promise<unknown>>()
  const perWrite = 50
  for (let first = 0; first < objects; first += perWrite) {
    const count = Math.min(perWrite, objects - first)
    const writes = Array.from({ length: count }, (_, i) => ({
      type: 'put' as const,
      key: keyFromText(`/registry/pods/namespace-${(first + i) % 50}/pod-${first + i}`),
      value: Buffer.alloc(valueBytes, Math.floor(random.next() * 256)),
    }))
    const write = client
      .txn({ compares: [], success: writes, failure: [] })
      .finally(() => writing.delete(write))
    writing.add(write)
    if (writing.size >= 8) await Promise.race(writing)
  }
  await Promise.all(writing)
  for (let i = 0; i < 20; i++) {
    const key = keyFromText(`/registry/quiet/${i}`)
    const success = [{ type: 'put' as const, key, value: Buffer.from('quiet') }]
    await client.txn({ compares: [], success, failure: [] })
  }
  await client.close()
}

export interface RunningMirror {
  readonly mirror: Mirror
  readonly close: () => Promise<void>
}

/** A mirror with keyspaces of what lies below its prefix, started. */
export function startMirror(
  endpoint: string,
  options: {
    readonly metrics?: MirrorMetrics
    /** Puts something between the mirror and its client. */
    readonly wrap?: (client: Client) => Client
  } = {},
): RunningMirror {
  const client = new GrpcClient({ endpoints: [endpoint] })
  const mirror = new Mirror({
    client: options.wrap?.(client) ?? client,
    clock: systemClock,
    random: systemRandom,
    limits: defaultLimits,
    logger: silentLogger,
    metrics: options.metrics ?? noMetrics,
    sink: ignoringSink,
    ranges: [prefixRange(keyFromText(mirroredPrefix))],
    keyspaceOf,
  })
  for (const name of [podsKeyspace, quietKeyspace]) {
    const range = prefixRange(keyFromText(`${mirroredPrefix}${name}/`))
    mirror.add({ name, range, history })
  }
  mirror.start()
  return {
    mirror,
    close: async () => {
      await mirror.stop()
      await client.close()
    },
  }
}

/** Resolves once a consistent read of every keyspace is answered. */
export async function untilReady(mirror: Mirror): Promise<void> {
  for (const name of [podsKeyspace, quietKeyspace]) {
    for (;;) {
      const options = { freshness: { type: 'consistent' }, elsewhere: 'nowhere' } as const
      const outcome = await Promise.resolve(mirror.read(name, options)).catch(() => undefined)
      if (outcome !== undefined) break
    }
  }
}

/** The slice between the second and the third slash, as Kubernetes has its resources. */
function keyspaceOf(key: Key): string | undefined {
  if (!key.startsWith(mirroredPrefix)) return undefined
  const end = key.indexOf('/', mirroredPrefix.length)
  return end < 0 ? undefined : key.slice(mirroredPrefix.length, end)
}
