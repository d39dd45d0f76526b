/** The program in front of an upstream, as a user starts it. */

import t from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { startProgram } from '../../support/program/program.ts'
import { ask } from '../../support/http/served.ts'
import { configMap, originOf } from '../../support/upstream/proxied.ts'
import { TestUpstream, upstreamReady } from '../../support/upstream/upstream.ts'
import { moment } from '../../support/http/moment.ts'

const maps = '/api/v1/namespaces/default/configmaps'

t.test('serve --upstream answers, passes, and switches when it is told to', async t => {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const upstream = await TestUpstream.start({ client })
  t.teardown(async () => {
    await upstream.stop()
    await etcd.close()
    engine.close()
  })
  await upstreamReady(upstream)
  await upstream.create(maps, configMap('a', '1'))
  const program = await startProgram(t, [
    '--etcd',
    `http://${etcd.address}`,
    '--upstream',
    upstream.url,
    '--admin-listen',
    'none',
    '--auth',
    'none',
    '--never-cache',
    'secrets',
  ])
  const { port } = program
  const origin = async (path: string): Promise<string> => originOf(await ask(port, { path }))
  const reached = async (path: string, wanted: string): Promise<void> => {
    while ((await origin(path)) !== wanted) await moment()
  }
  await reached(maps, 'mirror; revision=N')
  t.equal(await origin('/api/v1/secrets'), 'pass; reason=excluded')
  t.equal(await origin('/metrics'), 'pass; reason=not-a-resource')
  program.signal('SIGUSR2')
  await reached(maps, 'pass; reason=switched-off')
  program.signal('SIGUSR2')
  await reached(maps, 'mirror; revision=N')
  t.equal(await program.stop(), 0)
})
