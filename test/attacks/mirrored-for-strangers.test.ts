/** Callers whom nobody knows, and those who may not read a resource, do not have it mirrored: that
 *  is a list of everything and a watch, at the cost of the upstream and of our memory. */

import t from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { json, type SeenRequest } from '../support/upstream/answers.ts'
import { ask } from '../support/http/served.ts'
import { moment } from '../support/http/moment.ts'
import { originOf, startFront } from '../support/upstream/proxied.ts'
import { TestUpstream, upstreamReady } from '../support/upstream/upstream.ts'

const ours = 'Bearer ours'
const reader = { authorization: 'Bearer reader' }
const secrets = '/api/v1/secrets'
const maps = '/api/v1/configmaps'

function isOfSecrets({ url }: SeenRequest): boolean {
  return url.startsWith(secrets)
}

t.test('only a caller whom the upstream answers has a resource mirrored', async t => {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  const upstream = await TestUpstream.start({ client })
  await upstreamReady(upstream)
  upstream.before = request => {
    const { authorization } = request.headers
    if (authorization === ours) return undefined
    if (authorization !== reader.authorization) return json({}, 401)
    return isOfSecrets(request) ? json({}, 403) : undefined
  }
  const service = await startFront(undefined, upstream, {
    token: () => Promise.resolve('ours'),
    service: { source: { isWantedAtStart: () => false } },
  })
  t.teardown(async () => {
    await service.stop()
    await upstream.stop()
    engine.close()
  })
  const { port } = service
  while (originOf(await ask(port, { path: secrets, headers: reader })) !== notReady) await moment()
  t.equal((await ask(port, { path: secrets })).status, 401)
  t.equal((await ask(port, { path: `${secrets}?watch=1` })).status, 401)
  t.equal((await ask(port, { path: secrets, headers: reader })).status, 403)
  for (const headers of [{}, reader]) {
    t.equal((await ask(port, { path: `/views${secrets}`, headers })).status, 503)
    t.equal((await ask(port, { path: `/views${secrets}?watch=1`, headers })).status, 503)
  }
  const originOfMaps = async (): Promise<string> =>
    originOf(await ask(port, { path: maps, headers: reader }))
  while (!(await originOfMaps()).startsWith('mirror')) await moment()
  const asked = upstream.seen.filter(
    request => isOfSecrets(request) && request.headers.authorization === ours,
  )
  t.strictSame(asked, [], 'secrets were not read for those who may not')
})

const notReady = 'pass; reason=not-ready'
