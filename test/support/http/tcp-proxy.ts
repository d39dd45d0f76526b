/** A TCP proxy on loopback, for tests of what a lost connection does. */

import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import type { Teardown } from '../etcd/etcd-cluster.ts'

export interface TcpProxy {
  readonly endpoint: string
  /** Number of connections so far. */
  readonly connectionCount: number
  /** Cuts all connections that there are. */
  cut(): void
  /** From now on, nothing passes on the connections that there are, and nobody is told. */
  freeze(): void
}

/** Passes connections on to an `http://host:port`, or to the one that is chosen for each; without
 *  one, a connection is cut. */
export async function startTcpProxy(
  scope: Teardown,
  target: string | (() => string | undefined),
): Promise<TcpProxy> {
  const choose = typeof target === 'string' ? (): string => target : target
  const sockets = new Set<Socket>()
  let connectionCount = 0
  const server = createServer(inbound => {
    connectionCount++
    const chosen = choose()
    if (chosen === undefined) return void inbound.destroy()
    const { hostname, port } = new URL(chosen)
    const outbound = connect(Number(port), hostname)
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const freeze = (): void => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  scope.teardown(async () => {
    server.close()
    cut()
  })
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connectionCount() {
      return connectionCount
    },
    cut,
    freeze,
  }
}
