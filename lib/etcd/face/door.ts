/** etcd's API in front of an etcd: what a mirror can answer exactly is answered here, everything else passes. */

import type { SecureContextOptions } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import { grpcStatus } from '../proto/failures.ts'
import { type CallMetrics, countCall } from './call-metrics.ts'
import type { EtcdSessions } from './etcd-sessions.ts'
import type { GrpcCall } from './grpc-call.ts'
import { GrpcServer } from './grpc-server.ts'
import { passCall } from './pass.ts'

export interface DoorOptions {
  /** Such as `127.0.0.1:2379`. */
  readonly listen: string
  readonly tls?: SecureContextOptions | undefined
  /** Where calls pass to. Closed by the caller. */
  readonly sessions: EtcdSessions
  readonly clock: Clock
  readonly metrics: CallMetrics
  /** Told of mistakes of ours. */
  readonly onFault: (error: unknown) => void
}

/** A listening door. */
export interface Door {
  /** Where it listens, with the port that it got. */
  readonly address: string
  renewTls(tls: SecureContextOptions): void
  /** Takes no more calls, waits for those under way, but not longer than this, and ends the rest. */
  close(drainMaxMs: number): Promise<void>
}

/** How often a closing door looks whether all calls have ended. */
const drainCheckMs = 20

/** Opens a door. Fails with `invalid_request` when the address cannot be listened on. */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const { listen, tls, sessions, clock, metrics, onFault } = options
  const server = await GrpcServer.listen({
    listen,
    tls,
    nowMs: () => clock.monotonicMs(),
    handle(call) {
      countCall(call, metrics)
      try {
        passCall(sessions, call)
      } catch (error) {
        onFault(error)
        endByFault(call)
      }
    },
  })
  return {
    address: server.address,
    renewTls: renewed => server.renewTls(renewed),
    async close(drainMaxMs) {
      server.drain()
      const deadlineMs = clock.monotonicMs() + drainMaxMs
      while (server.calls > 0 && clock.monotonicMs() < deadlineMs) {
        await new Promise<void>(resolve => clock.setTimer(drainCheckMs, resolve))
      }
      await server.close()
    },
  }
}

function endByFault(call: GrpcCall): void {
  call.finish({ code: grpcStatus.internal, details: 'watchglass: internal error' })
}
