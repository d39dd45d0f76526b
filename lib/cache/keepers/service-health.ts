/** The health of a service: whether it has mirrored everything, and whether it is about to stop. */

import type { HealthCheck } from '@watchglass/base'
import { type LoadReport, secondsLeft } from '../mirror/feed/bootstrap.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import type { Follower } from './followers.ts'

/** The checks of a server by name, where other programs look for those of kube-apiserver. */
export interface ServerChecks {
  /** Those of /livez, and of /healthz. */
  readonly livez: readonly string[]
  readonly readyz: readonly string[]
  /** Those that say whether everything is mirrored. */
  readonly mirrored: readonly string[]
}

export interface ServiceHealthOptions {
  /** Checks of this thread beside the mirrors. */
  readonly own?: readonly (HealthCheck | undefined)[] | undefined
  /** Those of another thread. */
  readonly others?: readonly HealthCheck[] | undefined
  /** Objects that the mirrors do not have yet, although they follow etcd. */
  readonly missing?: HealthCheck['problem'] | undefined
  /** Undefined for our own names. */
  readonly serverChecks?: () => ServerChecks | undefined
}

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

  constructor(mirrors: Mirrors, options: ServiceHealthOptions = {}) {
    const { own = [] } = options
    this.#mirrors = mirrors
    this.#options = options
    const problem = mirrors.outage?.bind(mirrors)
    const etcd = problem && { name: 'etcd', problem }
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

  /** Those of another thread become known later. */
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
    const ping: HealthCheck = { name: 'ping', problem: () => undefined }
    const own =
      names === undefined || checks === undefined
        ? [ping, { name: 'mirror', problem: () => mirrored() ?? missing() }]
        : names.map(name => {
            if (name === 'ping') return ping
            return { name, problem: checks.mirrored.includes(name) ? mirrored : missing }
          })
    const more = [...this.own, ...others]
    return [...own, ...more.filter(({ name }) => names?.includes(name) !== true)]
  }

  /** Everything is mirrored. */
  get isReady(): boolean {
    return this.#mirrors.statuses().every(({ state }) => state === 'ready')
  }

  stateChanged(): void {
    if (this.isReady) this.#onReady()
  }

  /** From now on it is not ready, so that load balancers send it no more requests. */
  stop(): void {
    this.#isStopping = true
  }
}

function problemOf(mirrors: Mirrors): string | undefined {
  const behind = mirrors.statuses().filter(({ state }) => state !== 'ready')
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
