/** The election of the one that acts of several processes that share an etcd: the holder of a
 *  Lease, as of the controllers of Kubernetes. Clocks of others are not believed: a lease is over
 *  when nobody has renewed it for as long as it lasts, by our own clock. */

import { type Clock, type Logger, repeat } from '@watchglass/base'
import { microTimeText } from '@watchglass/go'
import { StatusError } from '@watchglass/kube'
import type { ApiClient } from './api-client.ts'
import type { ApiPlace } from './cluster-api.ts'

export interface LeaderOptions {
  /** The API until the signal is aborted. */
  readonly clusterUntil: (signal: AbortSignal) => ApiClient
  /** Unlike that of any other process. */
  readonly identity: string
  readonly clock: Clock
  readonly logger: Logger
  readonly onLead: () => void
  /** Not told at the end. */
  readonly onLost: () => void
}

interface LeaseSpec {
  readonly holderIdentity?: string
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseDurationSeconds?: number
  readonly leaseTransitions?: number
}

const namespace = 'kube-system'
const name = 'watchglass-simulate'

const durationSeconds = 15
const renewEveryMs = 5_000
/** The time without a renewal after which a leader stops acting. */
const renewWithinMs = 10_000
const lookEveryMs = 2_000
/** The end waits so long for the lease to be given up. */
const releaseMaxMs = 1_000

export class Leader {
  readonly #options: LeaderOptions
  #attempt: AbortController | undefined
  #isLeading = false
  #isStopped = false
  #isTold = false
  /** The beginning of the last attempt that went well. */
  #renewedMs = 0
  /** The lease as it was seen last, and since when. */
  #seen = { text: '', sinceMs: 0 }
  #stop: () => void = () => {}

  constructor(options: LeaderOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#isStopped) return
    this.#look()
    this.#stop = repeat(this.#options.clock, lookEveryMs, () => this.#look())
  }

  /** The next one need not wait for the lease to end. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stop()
    this.#attempt?.abort()
    if (!this.#isLeading) return
    this.#isLeading = false
    const { clock, logger } = this.#options
    const abort = new AbortController()
    const cancel = clock.setTimer(releaseMaxMs, () => abort.abort())
    await this.#release(abort.signal).catch((error: unknown) => {
      logger.debug('the lease of simulated controllers is not given up', reasonOf(error))
    })
    cancel()
  }

  #look(): void {
    const { clock, logger, onLead, onLost } = this.#options
    const nowMs = clock.monotonicMs()
    const sinceMs = nowMs - this.#renewedMs
    if (this.#isLeading && sinceMs > renewWithinMs) {
      this.#attempt?.abort()
      this.#lose(onLost)
    }
    if (this.#attempt !== undefined || (this.#isLeading && sinceMs < renewEveryMs)) return
    const attempt = new AbortController()
    this.#attempt = attempt
    const ended = this.#try(attempt.signal).then(
      isOurs => {
        if (attempt.signal.aborted) return
        if (isOurs) this.#renewedMs = nowMs
        if (isOurs && !this.#isLeading) {
          this.#isLeading = true
          logger.info('this process runs the simulated controllers', {})
          onLead()
        } else if (!isOurs && this.#isLeading) this.#lose(onLost)
      },
      (error: unknown) => {
        if (attempt.signal.aborted) return
        logger.debug('the lease of simulated controllers is tried again', reasonOf(error))
      },
    )
    void ended.then(() => (this.#attempt = undefined))
  }

  #lose(onLost: () => void): void {
    this.#isLeading = false
    this.#options.logger.warn('another process runs the simulated controllers from now on', {})
    onLost()
  }

  /** True if the lease is ours now. */
  async #try(signal: AbortSignal): Promise<boolean> {
    const { clusterUntil, identity, clock, logger } = this.#options
    const cluster = clusterUntil(signal)
    const place = placeOf(cluster, 'coordination.k8s.io', 'leases', namespace)
    if (place === undefined) return false
    const now = microTimeText(clock.wallMs())
    const ours = {
      holderIdentity: identity,
      leaseDurationSeconds: durationSeconds,
      renewTime: now,
    }
    const entry = await cluster.stored({ ...place, name })
    if (entry === undefined) {
      const home = placeOf(cluster, '', 'namespaces', '')
      if (home === undefined) return false
      await cluster.createIfMissing(home, { metadata: { name: namespace } })
      const spec = { ...ours, acquireTime: now, leaseTransitions: 0 }
      return cluster.createIfMissing(place, { metadata: { name, namespace }, spec })
    }
    const lease = cluster.plainOf(place.resource, entry) as { spec?: LeaseSpec } | undefined
    const spec = lease?.spec ?? {}
    const { holderIdentity = '', leaseTransitions = 0 } = spec
    const isOurs = holderIdentity === identity
    if (!isOurs && holderIdentity !== '' && this.#isHeld(spec)) {
      if (!this.#isTold) {
        logger.info('another process runs the simulated controllers', { holder: holderIdentity })
      }
      this.#isTold = true
      return false
    }
    const taken = { acquireTime: now, leaseTransitions: leaseTransitions + 1 }
    const metadata = { resourceVersion: String(entry.modRevision) }
    const wanted = isOurs ? ours : { ...ours, ...taken }
    return patched(cluster, { ...place, name }, { metadata, spec: wanted })
  }

  #isHeld(spec: LeaseSpec): boolean {
    const nowMs = this.#options.clock.monotonicMs()
    const text = JSON.stringify(spec)
    if (this.#seen.text !== text) this.#seen = { text, sinceMs: nowMs }
    const lastsMs = (spec.leaseDurationSeconds ?? durationSeconds) * 1_000
    return nowMs - this.#seen.sinceMs < lastsMs
  }

  async #release(signal: AbortSignal): Promise<void> {
    const { clusterUntil, identity, clock } = this.#options
    const cluster = clusterUntil(signal)
    const place = placeOf(cluster, 'coordination.k8s.io', 'leases', namespace)
    const entry = place && (await cluster.stored({ ...place, name }))
    if (place === undefined || entry === undefined) return
    const lease = cluster.plainOf(place.resource, entry) as { spec?: LeaseSpec } | undefined
    if (lease?.spec?.holderIdentity !== identity) return
    const metadata = { resourceVersion: String(entry.modRevision) }
    const renewTime = microTimeText(clock.wallMs())
    const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime }
    await patched(cluster, { ...place, name }, { metadata, spec })
  }
}

/** False if somebody else was first. */
async function patched(cluster: ApiClient, place: ApiPlace, patch: object): Promise<boolean> {
  try {
    await cluster.patch(place, patch)
    return true
  } catch (error) {
    const code = error instanceof StatusError ? error.status.code : 0
    if (code !== 404 && code !== 409) throw error
    return false
  }
}

function placeOf(
  cluster: ApiClient,
  group: string,
  resourceName: string,
  inNamespace: string,
): ApiPlace | undefined {
  const resource = cluster.resourceOf(group, 'v1', resourceName)
  return resource && { resource, namespace: inNamespace, name: '' }
}

function reasonOf(error: unknown): { reason: string } {
  return { reason: error instanceof Error ? error.message : String(error) }
}
