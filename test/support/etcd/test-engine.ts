/** An engine for a test, with a client in process: real time, messages delivered at once and in
 *  order. */

import { createRandom } from '../../../lib/base/random.ts'
import type { Clock } from '../../../lib/base/clock.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine, type EngineOptions } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork, type Network } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'

export interface TestEngine {
  readonly engine: Engine
  readonly network: Network
  readonly client: EngineClient
}

export function createTestEngine(
  t: { teardown(task: () => void): void },
  options: Partial<EngineOptions> & { clock?: Clock } = {},
): TestEngine {
  const scheduler = createDirectScheduler()
  const network = new DirectNetwork(scheduler)
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler, ...options })
  t.teardown(() => engine.close())
  return { engine, network, client: new EngineClient({ engine, network }) }
}
