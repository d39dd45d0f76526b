/** `--writable` before an etcd of others: an empty one gets what every cluster has. */

import t, { type Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { keyFromText } from '../../../lib/base/keys.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { startEtcdServer } from '../../../lib/etcd-server/server.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { ask } from '../../support/http/served.ts'
import { startProgram } from '../../support/program/program.ts'

async function startEtcd(t: Test): Promise<{ address: string; client: EngineClient }> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(async () => {
    await etcd.close()
    engine.close()
  })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  return { address: etcd.address, client }
}

async function statusOf(port: number, path: string): Promise<number> {
  return (await ask(port, { path })).status
}

t.test('an empty etcd is a fresh cluster, also after a restart', async t => {
  const { address } = await startEtcd(t)
  const args = [`--etcd=http://${address}`, '--writable']
  const first = await startProgram(t, args)
  t.equal(await statusOf(first.port, '/api/v1/namespaces/default'), 200)
  t.equal(await statusOf(first.port, '/api/v1/namespaces/default/services/kubernetes'), 200)
  await first.stop()
  const second = await startProgram(t, args)
  await ask(second.port, {
    path: '/api/v1/namespaces',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"metadata":{"name":"later"}}',
  })
  while (
    (await statusOf(second.port, '/api/v1/namespaces/later/serviceaccounts/default')) !== 200
  ) {
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  await second.stop()
})

t.test('an etcd of another API server stays as it is', async t => {
  const { address, client } = await startEtcd(t)
  const value = Buffer.from('{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"own"}}')
  await client.txn({
    compares: [],
    success: [{ type: 'put', key: keyFromText('/registry/namespaces/own'), value }],
    failure: [],
  })
  const program = await startProgram(t, [`--etcd=http://${address}`, '--writable'])
  t.equal(await statusOf(program.port, '/api/v1/namespaces/own'), 200)
  t.equal(await statusOf(program.port, '/api/v1/namespaces/default'), 404)
  await program.stop()
})
