/** 200 watches at two services over one real etcd, while writers never rest, against a naive model.
 *  The seed decides what is written and watched; what is under way at the same time is up to the
 *  machine. To ask for the same again: WATCHES_SEED=N. */

import assert from 'node:assert/strict'
import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { ask, caughtUp, startServed } from '../support/http/served.ts'
import { checks } from './watches/checks.ts'
import { WatchingClient } from './watches/client.ts'
import { randomSelector, WatchedWorld } from './watches/world.ts'
import { effort } from '../support/effort.ts'
import { moment } from '../support/http/moment.ts'
import { patient } from '../support/patience.ts'

const etcd = await findEtcd('3.5')
const seed = Number(process.env['WATCHES_SEED'] ?? Math.floor(Math.random() * 2 ** 32))

const watchers = 200
const writers = 3
const writes = 200 * effort
/** Half of the watchers are kept nearer than this to what is written. */
const nearRevisions = 100

t.setTimeout(patient(120_000))

t.test('watches keep all of their promises', { skip: etcd.skip }, async t => {
  t.comment(`WATCHES_SEED=${seed}`)
  const random = createRandom(seed)
  const { endpoints } = await startEtcd(t, etcd)
  const clientOf = (): GrpcClient => {
    const client = new GrpcClient({ endpoints })
    t.teardown(() => client.close())
    return client
  }
  const world = new WatchedWorld(clientOf())
  for (let i = 0; i < 30; i++) await world.write(random)
  // What is to come is waited for as long as a slow machine needs.
  const limits = { ...defaultLimits, readWaitMaxMs: 60_000 }
  const servers = [
    await startServed(t, { client: clientOf(), limits }),
    await startServed(t, { client: clientOf(), limits }),
  ]
  const before = await world.write(random)
  for (const served of servers) await caughtUp(served, before)

  const clients = Array.from(
    { length: watchers },
    (_, i) => new WatchingClient(randomSelector(random), createRandom(seed + i), servers, i % 2),
  )
  const running = clients.map(client => client.run())
  let left = writes
  const write = async (writer: number): Promise<void> => {
    const own = createRandom(seed - 1 - writer)
    while (left-- > 0) {
      const revision = await world.write(own)
      const isFar = ({ position }: WatchingClient): boolean => position < revision - nearRevisions
      while (clients.filter(isFar).length > watchers / 2) await moment()
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, i) => write(i)))
  // One more that each is told of, so that it knows when it has seen everything.
  for (const client of clients) client.lastRevision = await world.put(client.selector.sample)
  await Promise.all(running)

  const changes = world.changes()
  for (const [name, check] of Object.entries(checks)) {
    t.doesNotThrow(() => clients.forEach(client => check(client.seen, changes)), name)
  }
  for (const client of clients) {
    const { selector, position } = client
    const exact = `resourceVersion=${position}&resourceVersionMatch=Exact`
    const path = `${selector.path}?${selector.query}&${exact}`
    const { status, body } = await ask(servers[0]!.service.port, { path })
    assert.equal(status, 200, body.toString())
    const { items } = JSON.parse(body.toString()) as { items: Item[] }
    const listed = new Map(
      items.map(({ metadata, data }) => [
        `${metadata.namespace}/${metadata.name}`,
        Number(data.serial),
      ]),
    )
    assert.deepEqual(client.state(), listed, `${path} of seed ${seed}`)
  }
  const connections = clients.reduce((sum, client) => sum + client.connections, 0)
  const told = clients.reduce(
    (sum, { seen }) => sum + seen.stretches.reduce((count, one) => count + one.told.length, 0),
    0,
  )
  t.comment(`${changes.length} changes, ${told} events told over ${connections} connections`)
  t.ok(connections > 2 * watchers)
})

interface Item {
  readonly metadata: { readonly namespace: string; readonly name: string }
  readonly data: { readonly serial: string }
}
