// Tests that start their cluster themselves: node --test deploy/examples/node/own-cluster.test.mjs
// They need @watchglass/cluster and @kubernetes/client-node.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { startCluster } from '@watchglass/cluster'

let cluster
let core

before(async () => {
  cluster = await startCluster({ simulate: 'nodes' })
  const config = new KubeConfig()
  config.loadFromString(cluster.kubeconfig)
  core = config.makeApiClient(CoreV1Api)
})

after(() => cluster?.stop())

test('objects are applied', async () => {
  const metadata = { name: 'settings', namespace: 'default' }
  await cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { size: '1' } })
  const { data } = await core.readNamespacedConfigMap(metadata)
  assert.deepEqual(data, { size: '1' })
})

test('a server that has too much to do refuses lists, for as long as the task takes', async () => {
  const rule = 'error,code=429,retry-after=1,verb=list,resource=pods'
  await cluster.faults.withFault(rule, async () => {
    await assert.rejects(core.listNamespacedPod({ namespace: 'default' }), { code: 429 })
    assert.deepEqual(await cluster.faults.met(), [{ rule, met: 1 }])
  })
  await core.listNamespacedPod({ namespace: 'default' })
})
