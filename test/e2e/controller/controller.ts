/** A controller of gadgets as people write them with the Kubernetes client for JavaScript: an
 *  informer, a work queue, and patches of the status. */

import {
  ApiException,
  CustomObjectsApi,
  type Informer,
  type KubeConfig,
  type KubernetesListObject,
  makeInformer,
  type ObjectCache,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import { type Gadget, group, isDone, keyOf, plural, version } from './gadgets.ts'
import { withTimeout } from './requests.ts'
import { WorkQueue } from './work-queue.ts'

const workers = 8
const pageLimit = 400
const restartMs = 50

export class Controller {
  readonly #api: CustomObjectsApi
  readonly #identity: string
  readonly #informer: Informer<Gadget> & ObjectCache<Gadget>
  readonly #onPatch: (patches: number) => void
  #queue: WorkQueue | undefined
  #hasListed = false
  patches = 0
  retries = 0
  restarts = 0

  constructor(config: KubeConfig, identity: string, onPatch: (patches: number) => void) {
    this.#api = config.makeApiClient(CustomObjectsApi)
    this.#identity = identity
    this.#onPatch = onPatch
    const path = `/apis/${group}/${version}/${plural}`
    this.#informer = makeInformer<Gadget>(config, path, () => this.#list())
    this.#informer.on('change', gadget => this.#queue?.add(keyOf(gadget)))
    this.#informer.on('error', () => {
      this.restarts++
      setTimeout(() => void this.#informer.start(), restartMs)
    })
  }

  get gadgets(): readonly Gadget[] {
    return this.#informer.list()
  }

  /** Fills the cache, and follows it. */
  start(): Promise<void> {
    return this.#informer.start()
  }

  /** Works until `stop` resolves. */
  async work(stop: Promise<void>): Promise<void> {
    const queue = new WorkQueue()
    this.#queue = queue
    for (const gadget of this.gadgets) queue.add(keyOf(gadget))
    const working = Array.from({ length: workers }, () => this.#worker(queue))
    await stop
    this.#queue = undefined
    queue.close()
    await Promise.all(working)
  }

  async #worker(queue: WorkQueue): Promise<void> {
    for (;;) {
      const key = await queue.next()
      if (key === undefined) return
      try {
        await this.#reconcile(key)
        queue.forget(key)
      } catch (error) {
        this.retries++
        queue.retry(key, retryAfterMs(error))
      } finally {
        queue.done(key)
      }
    }
  }

  async #reconcile(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/')
    const gadget = this.#informer.get(name, namespace)
    if (gadget === undefined || isDone(gadget)) return
    const { generation, resourceVersion } = gadget.metadata
    const body = {
      // A status of what is no longer there is a conflict.
      metadata: { resourceVersion },
      status: { size: gadget.spec.size, observedGeneration: generation, by: this.#identity },
    }
    const patch = { group, version, namespace, plural, name, body }
    const asMerge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch, withTimeout())
    await this.#api.patchNamespacedCustomObjectStatus(patch, asMerge)
    this.patches++
    this.#onPatch(this.patches)
  }

  /** The first time whatever there is, as client-go does it; later the newest, page by page. */
  async #list(): Promise<KubernetesListObject<Gadget>> {
    const what = { group, version, plural }
    if (!this.#hasListed) {
      const all = (await this.#api.listClusterCustomObject(
        { ...what, resourceVersion: '0' },
        withTimeout(),
      )) as KubernetesListObject<Gadget>
      this.#hasListed = true
      return all
    }
    const items: Gadget[] = []
    for (let _continue: string | undefined; ;) {
      const page = (await this.#api.listClusterCustomObject(
        { ...what, limit: pageLimit, ...(_continue === undefined ? {} : { _continue }) },
        withTimeout(),
      )) as KubernetesListObject<Gadget> & { metadata: { continue?: string } }
      items.push(...page.items)
      _continue = page.metadata.continue
      if (_continue === undefined || _continue === '') return { ...page, items }
    }
  }
}

/** The time that the server asks to wait. */
function retryAfterMs(error: unknown): number {
  if (!(error instanceof ApiException)) return 0
  return Number(error.headers['retry-after'] ?? 0) * 1_000
}
