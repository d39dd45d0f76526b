/** etcd's API in front of an etcd: what a mirror can answer exactly is answered here, everything
 *  else passes. */

import type { SecureContextOptions } from 'node:tls'
import type { Clock, Random } from '@watchglass/base'
import type { OpenFiles } from '@watchglass/cache'
import type { AccessRules } from './access/access.ts'
import { type CallMetrics, countCall } from './call-metrics.ts'
import { CallRouter } from './call-router.ts'
import type { EtcdSessions } from './pass/etcd-sessions.ts'
import { GrpcServer } from './listen/grpc-server.ts'
import type { MirroredEtcd } from './answers/mirrored.ts'

export interface ReplicaServerOptions {
  /** Such as `127.0.0.1:2379`. */
  readonly listen: string
  readonly tls?: SecureContextOptions | undefined
  /** Sessions with the etcd that calls pass to. Closed by the caller. */
  readonly sessions: EtcdSessions
  /** Mirror that answers here; everything passes if it is left out. */
  readonly mirrored?: MirroredEtcd | undefined
  /** Rights of each name of a certificate; everybody may do everything if it is left out. */
  readonly rules?: AccessRules | undefined
  readonly clock: Clock
  readonly random: Random
  readonly metrics: CallMetrics
  readonly openFiles?: OpenFiles | undefined
  /** Told of mistakes of ours. */
  readonly onFault: (error: unknown) => void
}

/** A listening replica. */
export interface ReplicaServer {
  /** Address that it listens on, with the port that it got. */
  readonly address: string
  renewTls(tls: SecureContextOptions): void
  /** Takes no more calls, waits for those under way, but not longer than this, and ends the
   *  rest. */
  close(drainMaxMs: number): Promise<void>
}

/** The interval at which a closing replica looks whether all calls have ended. */
const drainCheckMs = 20

/** Opens a replica. Fails with `invalid_request` when the address cannot be listened on. */
export async function openReplicaServer(options: ReplicaServerOptions): Promise<ReplicaServer> {
  const { listen, tls, clock, metrics, openFiles } = options
  const calls = new CallRouter(options)
  const server = await GrpcServer.listen({
    listen,
    tls,
    clock,
    openFiles,
    onFault: options.onFault,
    handle(call) {
      countCall(call, metrics)
      calls.take(call)
    },
  })
  calls.start()
  return {
    address: server.address,
    renewTls: renewed => server.renewTls(renewed),
    async close(drainMaxMs) {
      server.drain()
      calls.stop()
      const deadlineMs = clock.monotonicMs() + drainMaxMs
      while (server.calls > 0 && clock.monotonicMs() < deadlineMs) {
        await new Promise<void>(resolve => clock.setTimer(drainCheckMs, resolve))
      }
      await server.close()
    },
  }
}
