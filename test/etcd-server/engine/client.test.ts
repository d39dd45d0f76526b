import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { clientContract } from '../../contract/client.ts'

const scheduler = createDirectScheduler()
const network = new DirectNetwork(scheduler)
const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })

clientContract(t, () => new EngineClient({ engine, network }))

t.test('the engine ends', async () => engine.close())
