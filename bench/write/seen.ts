/** The time from the answer to a write until a watcher has it: over HTTP, the service in this
 *  process. */

import * as http from 'node:http'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../lib/base/random.ts'
import { KubeService } from '../../lib/cli/compose/kube-service.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { ask } from '../../test/support/http/served.ts'
import { silentLogger } from '../../test/support/silent-logger.ts'
import { type BenchTable, type Floor, percentile } from '../bench.ts'
import { samples } from './samples.ts'

const maxLagMs = 2
const [sample] = samples as [(typeof samples)[number]]
const path = '/api/v1/namespaces/default/configmaps'

export async function measureSeen(
  writes: number,
): Promise<{ readonly table: BenchTable; readonly floor: Floor }> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const service = await KubeService.start({
    etcd: {
      client: new EngineClient({ engine, network: new DirectNetwork(scheduler) }),
      prefix: '/registry',
    },
    listening: { listen: { protocol: 'http', host: '127.0.0.1', port: 0 } },
    attached: { writes: { basics: { rootAuthority: 'none' } } },
    logger: silentLogger,
    clock: systemClock,
  })
  try {
    while (!service.isReady) await sleep(10)
    const lags = await measure(service.port, writes)
    const p50 = percentile(lags, 0.5)
    return {
      table: {
        title:
          'From the answer to a create until a watcher has it, in ms (0: the watcher had it first)',
        columns: ['writes', 'p50', 'p99'],
        rows: [[writes, p50, percentile(lags, 0.99)]],
      },
      floor: {
        name: "a watcher's delay after the answer, p50",
        value: p50,
        bound: 'at most',
        limit: maxLagMs,
        unit: 'ms',
      },
    }
  } finally {
    await service.stop()
    engine.close()
  }
}

async function measure(port: number, writes: number): Promise<number[]> {
  const seen = new Map<string, number>()
  const watch = http.get({ host: '127.0.0.1', port, path: `${path}?watch=1` })
  const [response] = (await once(watch, 'response')) as [http.IncomingMessage]
  response.on('error', () => undefined)
  let rest = ''
  response.on('data', (piece: Buffer) => {
    const lines = (rest + piece.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const { object } = JSON.parse(line) as { object: { metadata: { name: string } } }
      seen.set(object.metadata.name, performance.now())
    }
  })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const lags: number[] = []
  for (let index = 0; index < writes; index++) {
    const name = `seen-${index}`
    const { metadata, ...object } = sample.object(name, '1') as { metadata: { namespace: string } }
    const body = JSON.stringify({ ...object, metadata: { ...metadata, namespace: 'default' } })
    const headers = { 'Content-Type': 'application/json' }
    const { status } = await ask(port, { method: 'POST', path, headers, body }, agent)
    if (status !== 201) throw new Error(`a create was answered with ${status}`)
    const answeredMs = performance.now()
    while (!seen.has(name)) await sleep(0.1)
    lags.push(Math.max(0, seen.get(name)! - answeredMs))
  }
  agent.destroy()
  watch.destroy()
  return lags
}
