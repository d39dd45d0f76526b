/** Informers of the Kubernetes client for JavaScript on a cluster that never rests, with
 *  connections that are cut now and then: in the end, each knows what a list says. */

import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import {
  CoreV1Api,
  KubeConfig,
  type KubernetesListObject,
  ListWatch,
  type V1Pod,
  Watch,
} from '@kubernetes/client-node'
import type { Teardown } from '../../support/etcd/etcd-cluster.ts'
import { startTcpProxy } from '../../support/http/tcp-proxy.ts'

export interface SoakOptions {
  readonly pods: number
  readonly changesPerSecond: number
  /** Resolves when it has gone on for long enough, given what the first informer, which sees all
   *  pods, has been told so far. */
  readonly lasts: (events: () => number) => Promise<void>
  readonly cuts: number
  readonly progress: (message: string) => void
}

export interface SoakReport {
  readonly changes: number
  readonly events: number
  /** Number of objects that each informer has in the end. */
  readonly objects: readonly number[]
  readonly restarts: number
}

const pageLimit = 500

/** The selectors of an informer. */
interface Selected {
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

class PodInformer {
  readonly selected: Selected
  readonly #informer: ListWatch<V1Pod>
  #onEvent = (): void => {}
  #isStopped = false
  events = 0
  restarts = 0

  constructor(config: KubeConfig, selected: Selected) {
    this.selected = selected
    const { labelSelector, fieldSelector } = selected
    const list = (): Promise<KubernetesListObject<V1Pod>> => listPods(config, selected)
    const watch = new Watch(config)
    const path = '/api/v1/pods'
    this.#informer = new ListWatch(path, watch, list, false, labelSelector, fieldSelector)
    this.#informer.on('change', () => {
      this.events++
      this.#onEvent()
    })
    // What its documentation tells users to do.
    this.#informer.on('error', () => {
      if (this.#isStopped) return
      this.restarts++
      void this.#informer.start()
    })
  }

  start(): Promise<void> {
    return this.#informer.start()
  }

  stop(): Promise<void> {
    this.#isStopped = true
    return this.#informer.stop()
  }

  get size(): number {
    return this.#informer.list().length
  }

  /** Resolves when it has exactly these pods. */
  async equals(pods: readonly V1Pod[]): Promise<void> {
    const wanted = new Map(pods.map(pod => [nameOf(pod), pod]))
    while (!this.#isAt(wanted)) {
      await new Promise<void>(resolve => (this.#onEvent = resolve))
    }
    for (const pod of this.#informer.list()) {
      // What came in an event is plain JSON, as the list is that it is compared with.
      if (typeof pod.metadata?.creationTimestamp !== 'string') continue
      const { kind: _, apiVersion: __, ...rest } = pod
      assert.deepEqual(rest, wanted.get(nameOf(pod)))
    }
  }

  #isAt(wanted: ReadonlyMap<string, V1Pod>): boolean {
    const got = this.#informer.list()
    return (
      got.length === wanted.size &&
      got.every(pod => revisionOf(pod) === revisionOf(wanted.get(nameOf(pod))))
    )
  }
}

export async function soak(scope: Teardown, options: SoakOptions): Promise<SoakReport> {
  const { progress } = options
  progress(`generating ${options.pods} pods`)
  const file = fileURLToPath(new URL('server.js', import.meta.url))
  const server = fork(file, [String(options.pods)])
  scope.teardown(async () => {
    if (server.connected) server.disconnect()
    await once(server, 'exit')
  })
  const [port] = (await once(server, 'message')) as [number]
  const address = `http://127.0.0.1:${port}`
  const proxy = await startTcpProxy(scope, address)
  const config = configFor(proxy.endpoint)
  const [first] = await rawPods(address, {}, 1)
  const node = first?.spec?.nodeName ?? ''
  const app = first?.metadata?.labels?.['app.kubernetes.io/name'] ?? ''
  const informers = [
    new PodInformer(config, {}),
    new PodInformer(config, { labelSelector: `app.kubernetes.io/name=${app}` }),
    new PodInformer(config, { fieldSelector: `spec.nodeName=${node}` }),
  ]
  progress('listing')
  for (const informer of informers) {
    await informer.start()
    scope.teardown(() => informer.stop())
  }
  progress('changing')
  await tell(server, `start ${options.changesPerSecond}`)
  const [all] = informers
  for (let part = 0; part <= options.cuts; part++) {
    await options.lasts(() => all?.events ?? 0)
    if (part < options.cuts) proxy.cut()
  }
  const changes = Number(await tell(server, 'stop'))
  progress('comparing')
  for (const informer of informers) await informer.equals(await rawPods(address, informer.selected))
  return {
    changes,
    events: informers.reduce((sum, { events }) => sum + events, 0),
    objects: informers.map(({ size }) => size),
    restarts: informers.reduce((sum, { restarts }) => sum + restarts, 0),
  }
}

async function tell(server: ChildProcess, order: string): Promise<unknown> {
  server.send(order)
  const [answer] = (await once(server, 'message')) as [unknown]
  return answer
}

function configFor(server: string): KubeConfig {
  const config = new KubeConfig()
  config.loadFromClusterAndUser({ name: 'soak', server, skipTLSVerify: true }, { name: 'soak' })
  return config
}

/** All pods as the client's users list them: page by page. */
async function listPods(
  config: KubeConfig,
  selected: Selected,
): Promise<KubernetesListObject<V1Pod>> {
  const api = config.makeApiClient(CoreV1Api)
  const first = await api.listPodForAllNamespaces({ ...selected, limit: pageLimit })
  let next = first.metadata?._continue
  while (next !== undefined && next !== '') {
    const page = await api.listPodForAllNamespaces({
      ...selected,
      limit: pageLimit,
      _continue: next,
    })
    first.items.push(...page.items)
    next = page.metadata?._continue
  }
  return first
}

/** The same as plain JSON. */
async function rawPods(address: string, selected: Selected, limit?: number): Promise<V1Pod[]> {
  const pods: V1Pod[] = []
  let token: string | undefined = ''
  while (token !== undefined) {
    const query = new URLSearchParams({ ...selected, limit: String(limit ?? pageLimit) })
    if (token !== '') query.set('continue', token)
    const response = await fetch(`${address}/api/v1/pods?${query.toString()}`)
    if (!response.ok) {
      const body = await response.text()
      // A busy machine's mirror may be behind for a moment, and says so.
      if (response.status === 429) continue
      // The history is short: a page that comes late begins anew, as clients do.
      if (response.status !== 410) throw new Error(`${response.status}: ${body}`)
      pods.length = 0
      token = ''
      continue
    }
    const page = (await response.json()) as { items: V1Pod[]; metadata: { continue?: string } }
    pods.push(...page.items)
    token = limit === undefined ? page.metadata.continue : undefined
  }
  return pods
}

function nameOf({ metadata }: V1Pod): string {
  return `${metadata?.namespace}/${metadata?.name}`
}

function revisionOf(pod: V1Pod | undefined): string | undefined {
  return pod?.metadata?.resourceVersion
}
