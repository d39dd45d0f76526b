// Tests against a cluster of their own: watchglass run --simulate all -- node --test deploy/examples/node/
// They need @kubernetes/client-node.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AppsV1Api, CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node'

const namespace = 'starter'
const config = new KubeConfig()

before(async () => {
  // KUBECONFIG alone might name a real cluster.
  assert.ok(
    process.env.WATCHGLASS_SERVICE_ACCOUNT,
    'start this with: watchglass run -- node --test',
  )
  config.loadFromDefault()
  await config.makeApiClient(CoreV1Api).createNamespace({ body: { metadata: { name: namespace } } })
})

after(() => config.makeApiClient(CoreV1Api).deleteNamespace({ name: namespace }))

test('a deployment has pods that run', async () => {
  const labels = { app: 'web' }
  const spec = { containers: [{ name: 'web', image: 'nginx' }] }
  await config.makeApiClient(AppsV1Api).createNamespacedDeployment({
    namespace,
    body: {
      metadata: { name: 'web' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec },
      },
    },
  })
  await bothRun()
})

/** Watches until two pods run. */
async function bothRun() {
  const running = new Set()
  const path = `/api/v1/namespaces/${namespace}/pods`
  const watching = await new Promise((resolve, reject) => {
    const see = (_type, { metadata, status }) => {
      if (status.phase === 'Running') running.add(metadata.name)
      if (running.size === 2) resolve(request)
    }
    const ended = error => reject(error ?? new Error('the watch has ended'))
    const request = new Watch(config).watch(path, {}, see, ended)
    request.catch(reject)
  })
  watching.abort()
}

test('what is wrong is refused', async () => {
  const body = {
    metadata: { name: 'No_Such_Name' },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  }
  await assert.rejects(config.makeApiClient(CoreV1Api).createNamespacedPod({ namespace, body }), {
    code: 422,
  })
})

test('a visitor may do nothing', async () => {
  const visitor = new KubeConfig()
  visitor.loadFromDefault()
  visitor.setCurrentContext('visitor')
  await assert.rejects(visitor.makeApiClient(CoreV1Api).listNamespacedSecret({ namespace }), {
    code: 403,
  })
})
