/** Pods that made-up nodes run fail now and then: a container is restarted, or the pod is evicted
 *  and another is made. */

import t from 'tap'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'

interface Pod {
  readonly status: {
    readonly phase: string
    readonly reason?: string
    readonly containerStatuses?: readonly {
      readonly restartCount: number
      readonly ready: boolean
    }[]
  }
}

interface Pods {
  readonly items: readonly Pod[]
}

/** Minutes take milliseconds, seconds a fiftieth. */
const { send } = await startSimulatedCluster<Pods>(t, {
  shortened: delayMs => delayMs / (delayMs >= 600_000 ? 10_000 : 50),
})

async function pods(): Promise<readonly Pod[]> {
  return (await send('GET', '/api/v1/namespaces/default/pods')).items
}

t.test('containers are restarted, and evicted pods are replaced', async t => {
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'image:1' }] } }
  const deployment = {
    metadata: { name: 'web' },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  }
  const { code } = await send('POST', '/apis/apps/v1/namespaces/default/deployments', deployment)
  t.equal(code, 201)
  let restarted: Pod | undefined
  let evicted: Pod | undefined
  while (restarted === undefined || evicted === undefined) {
    for (const pod of await pods()) {
      const { phase, reason, containerStatuses = [] } = pod.status
      if (phase === 'Running' && (containerStatuses[0]?.restartCount ?? 0) > 0) restarted = pod
      if (reason === 'Evicted') evicted = pod
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  t.equal(restarted.status.containerStatuses?.[0]?.ready, true)
  t.match(evicted.status, { phase: 'Failed', containerStatuses: [{ ready: false }] })
  const isRunning = ({ status }: Pod): boolean => status.phase === 'Running'
  while ((await pods()).filter(isRunning).length < 3) {
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  t.ok((await pods()).length > 3, 'the evicted one is still there, as on a real cluster')
})
