/** A process loads the packages that its options ask for, and no other. */

import t, { type Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { configMap } from '../../support/upstream/proxied.ts'
import { ask } from '../../support/http/served.ts'
import type { LoadedModules } from '../../support/program/loaded-modules.ts'
import { freePort } from '../../support/program/ports.ts'
import { startProgram } from '../../support/program/program.ts'
import { TestUpstream, upstreamReady } from '../../support/upstream/upstream.ts'
import { lacksThreads } from '../../support/runner/other-node.ts'

const attached = ['proxy', 'workers', 'views', 'etcd-server', 'cel', 'writes', 'simulator']

/** The words that `--simulate` takes: the table of options has them. */
const namesOfControllers = 'lib/simulator/simulation/controller-names.js'

const engine = new Engine({
  clock: systemClock,
  random: createRandom(1),
  scheduler: createDirectScheduler(),
})
const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
const client = new EngineClient({ engine, network: new DirectNetwork(createDirectScheduler()) })
const upstream = await TestUpstream.start({ client })
await upstreamReady(upstream)
await upstream.create('/api/v1/namespaces/default/configmaps', configMap('a', '1'))
t.teardown(async () => {
  await upstream.stop()
  await etcd.close()
  engine.close()
})

/** The modules of attached packages that the program has loaded once it serves. */
async function loadedBy(
  t: Test,
  args: readonly string[],
  before?: (port: number) => Promise<unknown>,
): Promise<string[]> {
  let answered = (_modules: readonly string[]): void => {}
  const answer = new Promise<readonly string[]>(resolve => (answered = resolve))
  const program = await startProgram(t, [`--etcd=http://${etcd.address}`, ...args], {
    module: new URL('../../support/program/loaded-modules.js', import.meta.url),
    onMessage: message => answered((message as LoadedModules).loaded),
    onLog: () => {},
  })
  await before?.(program.port)
  program.send({})
  const modules = await answer
  t.ok(modules.includes('lib/cli/cli.js') && modules.includes('lib/cache/mirror/mirror-set.js'))
  await program.stop()
  return modules.filter(
    name => attached.includes(name.split('/')[1] ?? '') && name !== namesOfControllers,
  )
}

function packagesOf(modules: readonly string[]): string[] {
  return [...new Set(modules.map(name => name.split('/')[1] ?? ''))].toSorted()
}

t.test(
  'with an etcd to mirror and nothing else, no module of an attached package is loaded',
  async t => {
    const read = async (port: number): Promise<void> => {
      const paths = [
        '/api/v1/configmaps',
        '/api/v1/namespaces/default/configmaps/a',
        '/apis',
        '/metrics',
      ]
      for (const path of paths) t.equal((await ask(port, { path })).status, 200, path)
    }
    t.strictSame(await loadedBy(t, [], read), [])
  },
)

const asked: readonly (readonly [packages: readonly string[], args: readonly string[]])[] = [
  [['cel', 'simulator', 'writes'], ['--writable']],
  [['simulator'], ['--fault=error,code=503,times=1']],
  [['proxy'], [`--upstream=${upstream.url}`, '--auth=none', '--admin-listen=none']],
  [['workers'], ['--threads=2']],
  [['etcd-server'], ['--etcd-listen=127.0.0.1:0']],
]
for (const [packages, args] of asked) {
  const skip = packages.includes('workers') && lacksThreads()
  t.test(`${args[0]?.split('=')[0]} loads ${packages.join(', ')}, no other`, { skip }, async t => {
    t.strictSame(packagesOf(await loadedBy(t, args)), packages)
  })
}

t.test('the first fault that is switched on while the program runs loads their code', async t => {
  const adminPort = await freePort()
  const args = [`--admin-listen=http://127.0.0.1:${adminPort}`]
  const switchOn = async (port: number): Promise<void> => {
    const wrong = { method: 'PUT', path: '/faults', body: 'trouble' }
    t.match(await ask(adminPort, wrong), { status: 400 })
    const body = 'error,code=503,times=1'
    t.match(await ask(adminPort, { method: 'PUT', path: '/faults', body }), { status: 200 })
    t.equal((await ask(port, { path: '/api/v1/configmaps' })).status, 503)
    t.equal((await ask(port, { path: '/api/v1/configmaps' })).status, 200)
  }
  t.strictSame(packagesOf(await loadedBy(t, args, switchOn)), ['simulator'])
})

t.test('the first view that is asked for loads their code', async t => {
  const view = async (port: number): Promise<void> => {
    t.equal((await ask(port, { path: '/views/api/v1/configmaps' })).status, 200)
  }
  t.strictSame(packagesOf(await loadedBy(t, [], view)), ['views'])
})
