/** The controllers around writes: namespaces are emptied, dependents are collected, pods end. */

import t from 'tap'
import { type Served, ask, startServed } from '../../support/http/served.ts'

const served = await startServed(t, { isWritable: true, hasControllers: true })
await served.service.ready

async function send(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = {
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await ask(served.service.port, { method, path, headers, ...sent })
  return { code: answer.status, ...(JSON.parse(answer.body.toString()) as object) }
}

/** Asks until the answer is as it should be; the test's own limit ends it. */
async function until(
  path: string,
  isDone: (answer: Record<string, unknown>) => boolean,
): Promise<void> {
  while (!isDone(await send('GET', path))) await pause(served)
}

function pause({ clock }: Served): Promise<void> {
  return new Promise(resolve => clock.setTimer(10, resolve))
}

const isGone = ({ code }: Record<string, unknown>): boolean => code === 404
const configMaps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`
const configMap = (name: string, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
})
const uidOf = (object: Record<string, unknown>): string =>
  (object['metadata'] as { uid: string }).uid

t.test('a namespace goes when what is in it is gone, and says what holds it', async t => {
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'first' } })
  await send('POST', configMaps('first'), configMap('a'))
  await send('POST', configMaps('first'), configMap('held', { finalizers: ['example.com/f'] }))
  const deleted = await send('DELETE', '/api/v1/namespaces/first')
  t.match(deleted, { code: 200, status: { phase: 'Terminating' } })
  await until(`${configMaps('first')}/a`, isGone)
  t.match(await send('POST', configMaps('first'), configMap('late')), { code: 403 })
  const remains = 'Some resources are remaining: configmaps. has 1 resource instances'
  const held =
    'Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances'
  await until('/api/v1/namespaces/first', answer => JSON.stringify(answer).includes(held))
  const { status } = (await send('GET', '/api/v1/namespaces/first')) as {
    status: { conditions: { type: string; status: string; message: string }[] }
  }
  t.strictSame(
    status.conditions.map(({ type, status: value }) => `${type} ${value}`),
    [
      'NamespaceDeletionDiscoveryFailure False',
      'NamespaceDeletionGroupVersionParsingFailure False',
      'NamespaceDeletionContentFailure False',
      'NamespaceContentRemaining True',
      'NamespaceFinalizersRemaining True',
    ],
  )
  t.equal(status.conditions[3]?.message, remains)
  await send('PATCH', `${configMaps('first')}/held`, { metadata: { finalizers: null } })
  await until('/api/v1/namespaces/first', isGone)
})

t.test('dependents follow their owner as the propagation policy says', async t => {
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'second' } })
  for (const policy of ['Background', 'Foreground', 'Orphan']) {
    const name = policy.toLowerCase()
    const owner = await send('POST', configMaps('second'), configMap(name))
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name, uid: uidOf(owner) }
    const ownerReferences = [{ ...reference, blockOwnerDeletion: true }]
    await send('POST', configMaps('second'), configMap(`of-${name}`, { ownerReferences }))
    await send('DELETE', `${configMaps('second')}/${name}?propagationPolicy=${policy}`)
    await until(`${configMaps('second')}/${name}`, isGone)
    const dependent = `${configMaps('second')}/of-${name}`
    if (policy === 'Orphan') {
      const { metadata } = await send('GET', dependent)
      t.equal((metadata as { ownerReferences?: unknown }).ownerReferences, undefined)
    } else await until(dependent, isGone)
  }
})

t.test('a pod on a node goes when its grace period is over', async t => {
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'third' } })
  const pods = '/api/v1/namespaces/third/pods'
  const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] }
  await send('POST', pods, { metadata: { name: 'p' }, spec })
  const deleted = await send('DELETE', `${pods}/p?gracePeriodSeconds=1`)
  t.match(deleted, { code: 200, metadata: { deletionGracePeriodSeconds: 1 } })
  t.match(await send('GET', `${pods}/p`), { code: 200 })
  await until(`${pods}/p`, isGone)
})

t.test('what was left undone before the start is done after it', async t => {
  const contents = await startServed(t, { isWritable: true })
  await contents.service.ready
  const write = async (path: string, body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const sent = { method: 'POST', path, headers, body: JSON.stringify(body) }
    const answer = await ask(contents.service.port, sent)
    return uidOf(JSON.parse(answer.body.toString()) as Record<string, unknown>)
  }
  for (const name of ['ending', 'kept']) await write('/api/v1/namespaces', { metadata: { name } })
  await write(configMaps('ending'), configMap('left'))
  const uid = await write(configMaps('kept'), configMap('owner'))
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  await write(configMaps('kept'), configMap('dependent', { ownerReferences }))
  // Nobody empties it here.
  await ask(contents.service.port, { method: 'DELETE', path: '/api/v1/namespaces/ending' })

  const { client } = contents
  const later = await startServed(t, { client, isWritable: true, hasControllers: true })
  const get = async (path: string): Promise<number> =>
    (await ask(later.service.port, { path })).status
  await later.service.ready
  while ((await get('/api/v1/namespaces/ending')) !== 404) await pause(later)
  t.equal(await get(`${configMaps('ending')}/left`), 404)
  const path = `${configMaps('kept')}/owner`
  await ask(later.service.port, { method: 'DELETE', path })
  while ((await get(`${configMaps('kept')}/dependent`)) !== 404) await pause(later)
})

t.test('claims and volumes go when nobody uses them', async t => {
  const claims = '/api/v1/namespaces/third/persistentvolumeclaims'
  const pods = '/api/v1/namespaces/third/pods'
  const volumes = '/api/v1/persistentvolumes'
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'third' } })
  const spec = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    volumeName: 'v',
  }
  t.match(await send('POST', claims, { metadata: { name: 'data' }, spec }), { code: 201 })
  const claimRef = { namespace: 'third', name: 'data' }
  const volume = { hostPath: { path: '/x' }, capacity: { storage: '1Gi' }, claimRef }
  await send('POST', volumes, {
    metadata: { name: 'v' },
    spec: { ...volume, accessModes: ['ReadWriteOnce'] },
  })
  await send('PATCH', `${volumes}/v/status`, { status: { phase: 'Bound' } })
  const persistentVolumeClaim = { claimName: 'data' }
  await send('POST', pods, {
    metadata: { name: 'user' },
    spec: {
      nodeName: 'n',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'data', persistentVolumeClaim }],
    },
  })
  await send('DELETE', `${claims}/data`)
  await send('DELETE', `${volumes}/v`)
  await send('POST', claims, { metadata: { name: 'unused' }, spec: { ...spec, volumeName: 'w' } })
  await send('DELETE', `${claims}/unused`)
  await until(`${claims}/unused`, isGone)
  const held = { code: 200, metadata: { deletionTimestamp: String } }
  t.match(await send('GET', `${claims}/data`), held, 'a pod uses it')
  t.match(await send('GET', `${volumes}/v`), held, 'a claim is bound to it')
  await send('DELETE', '/api/v1/namespaces/third')
  await until('/api/v1/namespaces/third', isGone)
  await until(`${volumes}/v`, isGone)
})
