/** Pods that are stamped are like those that have gone the whole way of each write. */

import t from 'tap'
import type { Logger } from '../../../lib/base/logger.ts'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'
import { silentLogger } from '../../support/silent-logger.ts'

interface Answer {
  readonly items?: readonly object[]
  readonly status?: { readonly availableReplicas?: number }
}

const replicas = 12
const apps = '/apis/apps/v1/namespaces/default'
const core = '/api/v1/namespaces/default'

let stamped: object[] = []
const logger: Logger = {
  ...silentLogger,
  debug: (message, fields) => {
    if (message === 'pods are stamped from now on') stamped.push(fields ?? {})
  },
}
/** Seconds take a fiftieth; minutes stay, so that no pod is disturbed. */
const shortened = (delayMs: number): number => (delayMs > 200_000 ? delayMs : delayMs / 50)
const { send, until } = await startSimulatedCluster<Answer>(t, { logger, shortened })
// A pod that had no node at first has a condition that says so.
await until('/api/v1/nodes', ({ items = [] }) => items.length === 3)

function deployment(name: string, spec: object, meta: object = {}): object {
  const labels = { app: name }
  const template = { metadata: { labels, ...meta }, spec }
  const selector = { matchLabels: labels }
  return { metadata: { name }, spec: { replicas, selector, template } }
}

/** All pods of it, without what differs between any two. */
async function podsLike(name: string, spec: object, meta?: object): Promise<string[]> {
  stamped = []
  await send('POST', `${apps}/deployments`, deployment(name, spec, meta))
  await until(`${apps}/deployments/${name}`, ({ status }) => status?.availableReplicas === replicas)
  const { items = [] } = await send('GET', `${core}/pods?labelSelector=app%3D${name}`)
  const texts = items.map(item =>
    JSON.stringify(item, undefined, 1)
      .replace(new RegExp(`${name}-[a-z0-9]+-[a-z0-9]{5}"`), 'NAME"')
      .replace(/kube-api-access-[a-z0-9]{5}/g, 'VOLUME')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
      .replace(/"resourceVersion": "\d+"/, 'VERSION')
      .replace(/"uid": "[^"]+"(?=,\s*"resource|\s*,\s*VERSION)/, 'UID')
      .replace(/\b10\.\d+\.\d+\.\d+\b/g, 'ADDRESS')
      .replace(/"nodeName": "[^"]+"/, 'NODE')
      .replace(/containerd:\/\/[0-9a-f]{64}/g, 'CONTAINER'),
  )
  return [...new Set(texts)]
}

t.test('stamped pods differ from others in names, ids, times and addresses only', async t => {
  const image = 'nginx:1'
  const [first = '', ...others] = await podsLike('plain', { containers: [{ name: 'web', image }] })
  t.strictSame(others, [])
  t.match(first, /"phase": "Running"/)
  t.match(first, /"f:status"/)
  t.equal(stamped.length, 1)
})

t.test('so do those of a template with much in it', async t => {
  const container = { name: 'web', image: 'a/b@sha256:00', ports: [{ containerPort: 80 }] }
  const spec = {
    initContainers: [{ name: 'first', image: 'x' }],
    containers: [
      { ...container, env: [{ name: 'A', value: 'ü' }] },
      { name: 'two', image: 'y' },
    ],
    tolerations: [{ key: 'one', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }],
    volumes: [{ name: 'v', emptyDir: {} }],
  }
  const [first = '', ...others] = await podsLike('much', spec, { annotations: { note: 'n' } })
  t.strictSame(others, [])
  t.match(first, /"value": "ü"/)
  t.equal(stamped.length, 1)
})

t.test('where somebody counts pods, or may decide by their names, none is stamped', async t => {
  const hard = { pods: '100' }
  await send('POST', `${core}/resourcequotas`, { metadata: { name: 'all' }, spec: { hard } })
  const spec = { containers: [{ name: 'web', image: 'z' }] }
  t.equal((await podsLike('counted', spec)).length, 1)
  t.strictSame(stamped, [])
})
