/** The health of a service: whether it has mirrored everything, and whether it is about to stop. */

import type { HealthCheck } from '../base/health-check.ts'
import { type LoadReport, secondsLeft } from '../mirror/feed/bootstrap.ts'
import type { Mirrors } from '../mirror/mirrors.ts'
import type { Follower } from './followers.ts'

/** The checks of /livez and /readyz. */
export class ServiceHealth implements Follower {
  readonly livez: readonly HealthCheck[]
  /** Resolves when everything is mirrored for the first time. */
  readonly ready: Promise<void>
  readonly #mirrors: Mirrors
  readonly #before: readonly HealthCheck[]
  readonly #others: readonly HealthCheck[]
  readonly #shutdown: HealthCheck
  #onReady: () => void = () => {}
  #isStopping = false

  /** Checks of this thread beside the mirrors. */
  readonly own: readonly HealthCheck[]

  /** @param missing what the mirrors do not have yet, although they follow etcd */
  constructor(
    mirrors: Mirrors,
    own: readonly (HealthCheck | undefined)[] = [],
    others: readonly HealthCheck[] = [],
    missing: HealthCheck['problem'] = () => undefined,
  ) {
    this.#mirrors = mirrors
    this.own = own.filter(check => check !== undefined)
    this.ready = new Promise(resolve => (this.#onReady = resolve))
    const ping: HealthCheck = { name: 'ping', problem: () => undefined }
    const mirror: HealthCheck = { name: 'mirror', problem: () => problemOf(mirrors) ?? missing() }
    // In the words of kube-apiserver.
    const shutdown: HealthCheck = {
      name: 'shutdown',
      problem: () => (this.#isStopping ? 'process is shutting down' : undefined),
    }
    this.livez = [ping]
    this.#before = [ping, mirror, ...this.own]
    this.#others = others
    this.#shutdown = shutdown
  }

  /** Those of another thread become known later. */
  get readyz(): readonly HealthCheck[] {
    return [...this.#before, ...this.#others, this.#shutdown]
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
