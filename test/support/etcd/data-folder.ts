/** An engine with a data folder, for tests: opened, crashed and opened again. */

import type { Clock } from '../../../lib/base/clock.ts'
import { allKeys } from '../../../lib/base/keys.ts'
import type { Logger } from '../../../lib/base/logger.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { openDataFolder } from '../../../lib/etcd-server/journal/data-folder.ts'
import type { JournalOptions } from '../../../lib/etcd-server/journal/journal.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { silentLogger } from '../silent-logger.ts'

export interface KeptEngine {
  readonly engine: Engine
  readonly client: EngineClient
  readonly isRecovered: boolean
  /** Ends it in peace. */
  close(): Promise<void>
}

export async function openKept(
  folder: string,
  options: Partial<JournalOptions> & { readonly logger?: Logger; readonly clock?: Clock } = {},
): Promise<KeptEngine> {
  const clock = options.clock ?? systemClock
  const whole = { durability: 'os', logger: silentLogger, ...options, clock, folder } as const
  const opened = await openDataFolder(whole)
  const scheduler = createDirectScheduler()
  const engine = new Engine({
    clock,
    random: createRandom(1),
    scheduler,
    recovered: opened.recovered,
  })
  const journal = await opened.begin(engine)
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  return {
    engine,
    client,
    isRecovered: opened.recovered !== undefined,
    async close() {
      await journal.close()
      engine.close()
    },
  }
}

/** Everything that has to survive, in a form that can be compared: contents, the past that can be
 *  read, and leases without their time. */
export function stateOf(engine: Engine): unknown {
  const { base, batches, compactRevision, leases } = engine.backup()
  const floor = Math.max(compactRevision, 0)
  return {
    revision: engine.revision,
    compactRevision,
    contents: engine.at(engine.revision).range(allKeys, { limit: undefined }).map(shown),
    base: base.revision,
    batches: batches
      .filter(({ revision }) => revision >= floor)
      .map(({ revision, events }) => ({
        revision,
        events: events.map(({ key, after }) => (after && shown(after)) || key),
      })),
    leases: leases
      .map(
        ({ id, ttlSeconds }) =>
          `${id} ${ttlSeconds} ${[...(engine.lessor.get(id)?.keys ?? [])].sort().join()}`,
      )
      .sort(),
  }
}

interface Shown {
  readonly key: string
  readonly value: Uint8Array
  readonly createRevision: number
  readonly modRevision: number
  readonly version: number
  readonly lease: bigint
}

function shown({ key, value, createRevision, modRevision, version, lease }: Shown): string {
  const text = Buffer.from(value).toString('base64')
  return [key, createRevision, modRevision, version, lease, text].join(' ')
}
