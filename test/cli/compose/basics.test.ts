/** The objects that every cluster has, made at start and kept. */

import { networkInterfaces } from 'node:os'
import t from 'tap'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { ask, type Served, startServed } from '../../support/http/served.ts'

const rootAuthority = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
const options = { isWritable: true, hasControllers: true, basics: { rootAuthority } }

type Answer = Readonly<Record<string, unknown>> & { readonly code: number }

async function send(
  { service }: Served,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const headers = {
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await ask(service.port, { method, path, headers, ...sent })
  return { ...(JSON.parse(answer.body.toString()) as object), code: answer.status }
}

/** Asks until the answer is as it should be; the test's own limit ends it. */
async function until(
  served: Served,
  path: string,
  isDone: (answer: Answer) => boolean,
): Promise<Answer> {
  for (;;) {
    const answer = await send(served, 'GET', path)
    if (isDone(answer)) return answer
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const isThere = ({ code }: Answer): boolean => code === 200
const isGone = ({ code }: Answer): boolean => code === 404
const uidOf = (answer: Answer): string => (answer['metadata'] as { uid: string }).uid
const account = (namespace: string): string =>
  `/api/v1/namespaces/${namespace}/serviceaccounts/default`
const authorities = (namespace: string): string =>
  `/api/v1/namespaces/${namespace}/configmaps/kube-root-ca.crt`

t.test('each namespace has an account and the authority, and gets them again', async t => {
  const served = await startServed(t, options)
  await served.service.ready
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
    t.match(await send(served, 'GET', account(name)), { code: 200 }, name)
    t.match(await send(served, 'GET', authorities(name)), { data: { 'ca.crt': rootAuthority } })
  }
  await send(served, 'POST', '/api/v1/namespaces', { metadata: { name: 'new' } })
  const first = await until(served, account('new'), isThere)
  await until(served, authorities('new'), isThere)
  await send(served, 'DELETE', account('new'))
  const second = await until(served, account('new'), isThere)
  t.not(uidOf(second), uidOf(first))
  await send(served, 'DELETE', authorities('new'))
  await until(served, authorities('new'), isThere)
  await send(served, 'PATCH', authorities('new'), { data: { 'ca.crt': 'mine', more: 'text' } })
  await until(
    served,
    authorities('new'),
    ({ data }) => JSON.stringify(data) === JSON.stringify({ 'ca.crt': rootAuthority }),
  )
  await send(served, 'DELETE', '/api/v1/namespaces/new')
  await until(served, '/api/v1/namespaces/new', isGone)
  t.match(await send(served, 'GET', account('new')), { code: 404 })
})

t.test('what is there stays as it is', async t => {
  const first = await startServed(t, { isWritable: true })
  await first.service.ready
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  const mine = await send(first, 'POST', roles, { metadata: { name: 'view' }, rules })
  t.equal(mine.code, 201)
  const { client } = first
  const later = await startServed(t, { ...options, client })
  await later.service.ready
  const view = await send(later, 'GET', `${roles}/view`)
  t.equal(uidOf(view), uidOf(mine))
  t.strictSame(view['rules'], rules)
  t.match(await send(later, 'GET', `${roles}/edit`), { code: 200 })
})

t.test('the server says where it is, and says it again', async t => {
  const served = await startServed(t, {
    ...options,
    address: '10.1.2.3:6443',
  })
  await served.service.ready
  const service = '/api/v1/namespaces/default/services/kubernetes'
  t.match(await send(served, 'GET', service), {
    spec: { clusterIP: '10.96.0.1', ports: [{ port: 443, targetPort: 6443 }] },
  })
  t.match(await send(served, 'GET', '/api/v1/namespaces/default/endpoints/kubernetes'), {
    subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ name: 'https', port: 6443 }] }],
  })
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
  t.match(await send(served, 'GET', `${slices}/kubernetes`), {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.1.2.3'], conditions: { ready: true } }],
  })
})

t.test('a server on a loopback address has that of an interface, where there is one', async t => {
  const served = await startServed(t, options)
  await served.service.ready
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
  const { code, endpoints } = await send(served, 'GET', `${slices}/kubernetes`)
  const known = Object.values(networkInterfaces()).flatMap(all => all ?? [])
  const outer = known.filter(({ internal, family }) => !internal && family === 'IPv4')
  const addresses = ((endpoints ?? []) as { addresses: string[] }[]).flatMap(all => all.addresses)
  t.equal(code, 200)
  t.equal(addresses.length, Math.min(1, outer.length))
  for (const address of addresses) {
    t.ok(
      outer.some(each => each.address === address),
      address,
    )
  }
})

t.test('the lease is renewed, and the Service made again', async t => {
  const ticks: (() => void)[] = []
  const served = await startServed(t, {
    ...options,
    clock: {
      ...systemClock,
      setTimer(delayMs, task) {
        if (delayMs !== 10_000) return systemClock.setTimer(delayMs, task)
        ticks.push(task)
        return () => {}
      },
    },
  })
  await served.service.ready
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
  const { items } = (await send(served, 'GET', leases)) as unknown as {
    items: { metadata: { name: string }; spec: { renewTime: string } }[]
  }
  const [lease] = items
  const service = '/api/v1/namespaces/default/services/kubernetes'
  await send(served, 'DELETE', service)
  t.match(await send(served, 'GET', service), { code: 404 })
  for (const tick of ticks.splice(0)) tick()
  await until(served, service, isThere)
  const renewed = await until(
    served,
    `${leases}/${lease?.metadata.name ?? ''}`,
    ({ spec }) => (spec as { renewTime: string }).renewTime !== lease?.spec.renewTime,
  )
  t.equal(renewed.code, 200)
})

t.test('an APIService without another server is available at once', async t => {
  const served = await startServed(t, { isWritable: true })
  await served.service.ready
  const made = await send(served, 'POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name: 'v1.example.com' },
    spec: { group: 'example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
  })
  const [condition] = (made['status'] as { conditions: object[] }).conditions
  t.match(condition, { type: 'Available', status: 'True', reason: 'Local' })
})
