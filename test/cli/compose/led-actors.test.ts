/** Several processes that simulate on one etcd: one of them acts, and another goes on when it
 *  ends. */

import t, { type Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { controllerNames } from '../../../lib/simulator/simulation/controller-names.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { ask, type Served, startServed } from '../../support/http/served.ts'
import { moment } from '../../support/http/moment.ts'

interface Answer {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
  readonly spec: { readonly holderIdentity?: string; readonly leaseTransitions?: number }
  readonly status: Readonly<Record<string, unknown>>
}

/** Long timers take a fiftieth of the time. */
const clock = {
  ...systemClock,
  setTimer: (delayMs: number, task: () => void): (() => void) =>
    systemClock.setTimer(delayMs > 1_000 ? delayMs / 50 : delayMs, task),
}

async function start(t: Test, client?: Client): Promise<Served> {
  const served = await startServed(t, {
    isWritable: true,
    hasControllers: true,
    basics: { rootAuthority: 'none' },
    simulation: { controllers: new Set(controllerNames), random: createRandom(1) },
    clock,
    ...(client === undefined ? {} : { client }),
  })
  await served.service.ready
  return served
}

async function send(
  { service }: Served,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const headers = { 'content-type': type }
  const answer = await ask(service.port, { method, path, headers, ...sent })
  return JSON.parse(answer.body.toString()) as Answer
}

async function until(
  served: Served,
  path: string,
  isDone: (answer: Answer) => boolean,
): Promise<Answer> {
  for (;;) {
    const answer = await send(served, 'GET', path)
    if (isDone(answer)) return answer
    await moment()
  }
}

const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/watchglass-simulate'
const deployments = '/apis/apps/v1/namespaces/default/deployments'
const created =
  '/api/v1/namespaces/default/events?fieldSelector=reason=SuccessfulCreate,involvedObject.kind=ReplicaSet'
const isAvailable =
  (count: number) =>
  ({ status }: Answer): boolean =>
    status['availableReplicas'] === count

function deployment(replicas: number): object {
  const labels = { app: 'web' }
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: 'c', image: 'image:1' }] },
  }
  return {
    metadata: { name: 'web' },
    spec: { replicas, selector: { matchLabels: labels }, template },
  }
}

t.test('one of two acts, and the other one goes on when it ends', async t => {
  const first = await start(t)
  const { spec } = await until(first, lease, one => one.spec?.holderIdentity !== undefined)
  const second = await start(t, first.client)
  await send(second, 'POST', deployments, deployment(3))
  await until(second, `${deployments}/web`, isAvailable(3))
  const events = await until(second, created, ({ items }) => items.length >= 3)
  t.equal(events.items.length, 3, 'nobody has made pods beside the others')
  t.equal((await send(second, 'GET', lease)).spec.holderIdentity, spec.holderIdentity)
  await first.service.stop()
  await send(second, 'PATCH', `${deployments}/web`, { spec: { replicas: 4 } })
  await until(second, `${deployments}/web`, isAvailable(4))
  const after = await until(second, lease, one => (one.spec.leaseTransitions ?? 0) > 0)
  t.notMatch(after.spec.holderIdentity, spec.holderIdentity)
})

t.test('a lease that nobody renews ends', async t => {
  const engine = await startServed(t, { isWritable: true, basics: { rootAuthority: 'none' } })
  await engine.service.ready
  const spec = {
    holderIdentity: 'somebody who is gone',
    leaseDurationSeconds: 1,
    renewTime: '2026-01-01T00:00:00.000000Z',
  }
  const metadata = { name: 'watchglass-simulate', namespace: 'kube-system' }
  await send(engine, 'POST', lease.slice(0, lease.lastIndexOf('/')), { metadata, spec })
  const served = await start(t, engine.client)
  await until(served, '/api/v1/nodes', ({ items }) => items.length === 3)
  const taken = await send(served, 'GET', lease)
  t.not(taken.spec.holderIdentity, spec.holderIdentity)
  t.equal(taken.spec.leaseTransitions, 1)
})
