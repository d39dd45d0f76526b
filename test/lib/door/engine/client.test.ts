import t from 'tap'
import { createRandom } from '../../../../lib/base/random.ts'
import { EngineClient } from '../../../../lib/door/engine/client.ts'
import { Engine } from '../../../../lib/door/engine/engine.ts'
import { DirectNetwork } from '../../../../lib/door/engine/network.ts'
import { createDirectScheduler } from '../../../../lib/door/engine/scheduler.ts'
import { systemClock } from '../../../../lib/ops/system.ts'
import { clientContract } from '../../../contract/client.ts'

const scheduler = createDirectScheduler()
const network = new DirectNetwork(scheduler)
const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })

clientContract(t, () => new EngineClient({ engine, network }))

t.test('the engine ends', async () => engine.close())
