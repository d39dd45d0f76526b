/** The health of a service: whether it has mirrored everything, and whether it is about to stop. */

import type { Clock, HealthCheck, Logger } from '@watchglass/base'
import { type LoadReport, secondsLeft } from '../mirror/feed/bootstrap.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import type { KeyspaceStatus } from '../mirror/status.ts'
import type { Follower } from './followers.ts'

/** The checks of a server by name, where other programs look for those of kube-apiserver. */
export interface ServerChecks {
  /** Names of the checks of /livez, and of /healthz. */
  readonly livez: readonly string[]
  readonly readyz: readonly string[]
  /** Names of the checks that say whether everything is mirrored. */
  readonly mirrored: readonly string[]
}

export interface ServiceHealthOptions {
  /** Checks of this thread beside the mirrors. */
  readonly own?: readonly (HealthCheck | undefined)[] | undefined
  /** Checks of another thread. */
  readonly others?: readonly HealthCheck[] | undefined
  /** Objects that the mirrors do not have yet, although they follow etcd. */
  readonly missing?: HealthCheck['problem'] | undefined
  /** Undefined for our own names. */
  readonly serverChecks?: () => ServerChecks | undefined
  /** The log that is told when everything is mirrored again; none if it is left out. */
  readonly told?: { readonly clock: Clock; readonly logger: Logger } | undefined
}

/** A gap that is shorter is not told. */
const toldAfterMs = 3000

/** The name of the check that fails while etcd gives no answers. */
const etcdCheck = 'etcd'

/** The checks of /livez and /readyz. */
export class ServiceHealth implements Follower {
  /** Resolves when everything is mirrored for the first time. */
  readonly ready: Promise<void>
  /** Checks of this thread beside the mirrors. */
  readonly own: readonly HealthCheck[]
  readonly #mirrors: Mirrors
  readonly #options: ServiceHealthOptions
  readonly #shutdown: HealthCheck
  #onReady: () => void = () => {}
  #isStopping = false
  /** When the mirror ceased to be whole; undefined while it is, and before it ever was. */
  #gapSinceMs: number | undefined = undefined
  #wasWhole = false

  constructor(mirrors: Mirrors, options: ServiceHealthOptions = {}) {
    const { own = [] } = options
    this.#mirrors = mirrors
    this.#options = options
    const problem = mirrors.outage?.bind(mirrors)
    const etcd = problem && { name: mirrors.outageCheck ?? etcdCheck, problem }
    this.own = [etcd, ...own].filter(check => check !== undefined)
    this.ready = new Promise(resolve => (this.#onReady = resolve))
    // In the words of kube-apiserver.
    this.#shutdown = {
      name: 'shutdown',
      problem: () => (this.#isStopping ? 'process is shutting down' : undefined),
    }
  }

  /** A process that answers lives: to start it again would mirror nothing sooner. */
  get livez(): readonly HealthCheck[] {
    const names = this.#options.serverChecks?.()?.livez ?? ['ping']
    return names.map(name => ({ name, problem: () => undefined }))
  }

  /** Checks of /readyz. Those of another thread become known later. */
  get readyz(): readonly HealthCheck[] {
    const checks = this.#options.serverChecks?.()
    return [...this.#before(checks?.readyz, checks), this.#shutdown]
  }

  get healthz(): readonly HealthCheck[] {
    const checks = this.#options.serverChecks?.()
    // Under kube-apiserver's names, only /readyz speaks of the end.
    return checks === undefined ? this.readyz : this.#before(checks.livez, checks)
  }

  #before(names: readonly string[] | undefined, checks: ServerChecks | undefined): HealthCheck[] {
    const { missing = () => undefined, others = [] } = this.#options
    const mirrored = (): string | undefined => problemOf(this.#mirrors)
    const more = [...this.own, ...others]
    const outage = more.find(({ name }) => name === etcdCheck)?.problem
    const ping: HealthCheck = { name: 'ping', problem: () => undefined }
    const own =
      names === undefined || checks === undefined
        ? [ping, { name: 'mirror', problem: () => mirrored() ?? missing() }]
        : names.map(name => {
            if (name === 'ping') return ping
            // What is mirrored is behind because of the outage.
            const synced = (): string | undefined => outage?.() ?? mirrored()
            return { name, problem: checks.mirrored.includes(name) ? synced : missing }
          })
    // Under kube-apiserver's names, the checks of what is mirrored speak for etcd, too.
    const isTold = (name: string): boolean => names?.includes(name) === true
    const told = names === undefined ? more : more.filter(({ name }) => name !== etcdCheck)
    return [...own, ...told.filter(({ name }) => !isTold(name))]
  }

  /** Everything is mirrored. */
  get isReady(): boolean {
    return behindIn(this.#mirrors).length === 0
  }

  stateChanged(): void {
    const { isReady } = this
    if (isReady) this.#onReady()
    this.#tellWhole(isReady)
  }

  #tellWhole(isWhole: boolean): void {
    const { told } = this.#options
    if (told === undefined) return
    const { clock, logger } = told
    if (!isWhole) {
      if (this.#wasWhole) this.#gapSinceMs ??= clock.monotonicMs()
      return
    }
    this.#wasWhole = true
    if (this.#gapSinceMs === undefined) return
    const lastedMs = clock.monotonicMs() - this.#gapSinceMs
    this.#gapSinceMs = undefined
    if (lastedMs < toldAfterMs) return
    logger.warn('everything is mirrored again', { seconds: Math.round(lastedMs / 1000) })
  }

  /** From now on it is not ready, so that load balancers send it no more requests. */
  stop(): void {
    this.#isStopping = true
  }
}

function behindIn(mirrors: Mirrors): KeyspaceStatus[] {
  const awaited = mirrors.awaited?.() ?? mirrors.statuses()
  return awaited.filter(({ state }) => state !== 'ready')
}

function problemOf(mirrors: Mirrors): string | undefined {
  const behind = behindIn(mirrors)
  const [first] = behind
  if (first === undefined) return undefined
  const { name, state, load } = first
  const others = behind.length === 1 ? '' : ` and ${behind.length - 1} others`
  return `${name} is ${state}${others}${load === undefined || load.isDone ? '' : progressOf(load)}`
}

/** The progress of the first read, in words. */
function progressOf(load: LoadReport): string {
  const all = load.entries + load.remaining
  return `: ${load.entries} of ${all} objects are read, about ${secondsLeft(load)} s are left`
}
