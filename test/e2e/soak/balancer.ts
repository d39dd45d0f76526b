/** A balancer of TCP connections on loopback, as a Service is: each new connection goes to the next replica that is ready by its /readyz.
 *  It repeats nothing: what a replica drops, the client sees. */

import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import type { Teardown } from '../../support/etcd/etcd-cluster.ts'
import { ask } from '../../support/http/served.ts'

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
  const sockets = new Set<Socket>()
  let turn = 0
  const server = createServer(inbound => {
    const ready = replicas.filter(({ isReady }) => isReady)
    const chosen = ready[turn++ % ready.length]
    if (chosen === undefined) return void inbound.destroy()
    const outbound = connect(chosen.port, '127.0.0.1')
    for (const socket of [inbound, outbound]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        inbound.destroy()
        outbound.destroy()
      })
    }
    inbound.pipe(outbound).pipe(inbound)
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
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
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
