/** A balancer of TCP connections on loopback, as a Service is: each new connection goes to the next
 *  replica that is ready by its /readyz. It repeats nothing: what a replica drops, the client
 *  sees. */

import type { Teardown } from '../../support/etcd/etcd-cluster.ts'
import { ask } from '../../support/http/served.ts'
import { startTcpProxy } from '../../support/http/tcp-proxy.ts'

export interface Balancer {
  readonly port: number
  /** Puts a replica at a place, instead of the one there. */
  place(index: number, port: number): void
  /** Resolves when the replica at a place has been asked and is ready. */
  ready(index: number): Promise<void>
}

interface Replica {
  readonly port: number
  isReady: boolean
}

const askEachMs = 100

export async function startBalancer(scope: Teardown): Promise<Balancer> {
  const replicas: Replica[] = []
  let turn = 0
  const proxy = await startTcpProxy(scope, () => {
    const ready = replicas.filter(({ isReady }) => isReady)
    const chosen = ready[turn++ % ready.length]
    return chosen && `http://127.0.0.1:${chosen.port}`
  })
  const check = async (replica: Replica): Promise<void> => {
    const status = await ask(replica.port, { path: '/readyz' }).then(
      answer => answer.status,
      () => 0,
    )
    replica.isReady = status === 200
  }
  const timer = setInterval(() => {
    for (const replica of replicas) void check(replica)
  }, askEachMs)
  scope.teardown(async () => {
    clearInterval(timer)
  })
  return {
    port: Number(new URL(proxy.endpoint).port),
    place(index, port) {
      replicas[index] = { port, isReady: false }
    },
    async ready(index) {
      while (replicas[index]?.isReady !== true) {
        await new Promise(resolve => setTimeout(resolve, askEachMs / 5))
      }
    },
  }
}
