/** How a service is: whether it has mirrored everything, and whether it is about to stop. */

import type { Health, HealthCheck } from '../http/admin/health.ts'
import type { MirrorSet } from '../mirror/mirror-set.ts'

export class ServiceHealth implements Health {
  readonly livez: readonly HealthCheck[]
  readonly readyz: readonly HealthCheck[]
  #isStopping = false

  constructor(mirrors: MirrorSet, others: readonly HealthCheck[] = []) {
    const ping: HealthCheck = { name: 'ping', problem: () => undefined }
    const mirror: HealthCheck = { name: 'mirror', problem: () => problemOf(mirrors) }
    // In the words of kube-apiserver.
    const shutdown: HealthCheck = {
      name: 'shutdown',
      problem: () => (this.#isStopping ? 'process is shutting down' : undefined),
    }
    this.livez = [ping]
    this.readyz = [ping, mirror, ...others, shutdown]
  }

  /** From now on it is not ready, so that nobody sends requests to it any more. */
  stop(): void {
    this.#isStopping = true
  }
}

function problemOf(mirrors: MirrorSet): string | undefined {
  const behind = mirrors.statuses().filter(({ state }) => state !== 'ready')
  const [first] = behind
  if (first === undefined) return undefined
  const { name, state } = first
  const others = behind.length === 1 ? '' : ` and ${behind.length - 1} others`
  return `${name} is ${state}${others}`
}
