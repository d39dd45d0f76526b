// A controller with informers: every namespace gets a NetworkPolicy that denies all ingress, again when someone deletes it.
// node deploy/examples/controller.mjs [--once] ADDRESS
// With --once it ends when all namespaces have theirs.

import {
  CoreV1Api,
  KubeConfig,
  NetworkingV1Api,
  makeInformer,
  setHeaderMiddleware,
} from '@kubernetes/client-node'
import { argumentsOf } from './arguments.mjs'

const usage = `Usage: node deploy/examples/controller.mjs [--once] ADDRESS
Makes a NetworkPolicy in each namespace. --once: ends when all namespaces have theirs.`
const { values, server } = argumentsOf(usage, { once: { type: 'boolean', default: false } })
const config = new KubeConfig()
config.loadFromClusterAndUser(
  { name: 'example', server, skipTLSVerify: true },
  { name: 'controller' },
)
const core = config.makeApiClient(CoreV1Api)
const networking = config.makeApiClient(NetworkingV1Api)
const name = 'default-deny'
const policy = { metadata: { name }, spec: { podSelector: {}, policyTypes: ['Ingress'] } }

const waiting = new Set()
const failures = new Map()
let retries = 0
let restarts = 0
let made = 0

const namespaces = follow('/api/v1/namespaces', () => core.listNamespace({}, withTimeout()))
const policies = follow('/apis/networking.k8s.io/v1/networkpolicies', () =>
  networking.listNetworkPolicyForAllNamespaces({}, withTimeout()),
)
namespaces.on('add', ({ metadata }) => waiting.add(metadata.name))
policies.on('delete', ({ metadata }) => waiting.add(metadata.namespace))
await Promise.all([namespaces.start(), policies.start()])
for (;;) {
  for (const namespace of waiting) {
    waiting.delete(namespace)
    await reconcile(namespace).catch(error => retry(namespace, error))
  }
  const missing = namespaces.list().filter(({ metadata }) => !policies.get(name, metadata.name))
  process.stdout.write(
    `${namespaces.list().length} namespaces, ${missing.length} without policy, ${made} made, ${retries} retries, ${restarts} restarts\n`,
  )
  if (values.once && namespaces.list().length > 0 && missing.length === 0) {
    process.exit()
  }
  await new Promise(resolve => setTimeout(resolve, 500))
}

async function reconcile(namespace) {
  // Neither what is on its way out, nor what has its policy already.
  const { metadata } = namespaces.get(namespace) ?? {}
  if (!metadata || metadata.deletionTimestamp || policies.get(name, namespace)) return
  await networking.createNamespacedNetworkPolicy({ namespace, body: policy }, withTimeout())
  made++
  failures.delete(namespace)
}

function retry(namespace, error) {
  // The answer to an earlier attempt was lost, or the informer is behind.
  if (error.code === 409) return
  retries++
  const count = failures.get(namespace) ?? 0
  failures.set(namespace, count + 1)
  const asked = Number(error.headers?.['retry-after'] ?? 0) * 1000
  setTimeout(() => waiting.add(namespace), Math.max(asked, Math.min(5000, 50 * 2 ** count)))
}

/** An informer that starts again whenever it fails. */
function follow(path, list) {
  const informer = makeInformer(config, path, list)
  informer.on('error', error => {
    restarts++
    process.stdout.write(`${path}: ${error?.message}\n`)
    setTimeout(() => void informer.start(), 200)
  })
  return informer
}

/** The client's fetch never ends when a connection is cut within a body whose length was told: each request has a timeout. */
function withTimeout() {
  const accept = setHeaderMiddleware('Accept', 'application/json')
  const pre = request => {
    request.setSignal(AbortSignal.timeout(5000))
    return accept.pre(request)
  }
  return { middleware: [{ ...accept, pre }], middlewareMergeStrategy: 'append' }
}
