/** Files that the process may have open. Each connection is one. Once none is left, etcd cannot be
 *  connected again, no certificate is read and no passed request has a connection: so some are kept
 *  from clients, and a client that comes when only these are left is closed at once.
 *
 *  The system gives a new file the lowest number that is free. A connection with a number near the
 *  limit therefore tells that nearly all below are taken, by whichever thread or listener, and
 *  nothing has to be counted. */

import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Clock, Logger } from '@watchglass/base'

/** Room for etcd, for the connections of one upstream (lib/proxy/upstream), and for files. */
const keptMax = 320
/** The part of a low limit that is kept. */
const keptPart = 4
/** Closed clients are many, and one line in such a time says it. */
const saidAgainMs = 60_000

export interface OpenFilesOptions {
  /** The limit of the system; infinite where it is not known. */
  readonly max: number
  /** Operators may use half of what is kept from clients: they look for what is wrong. */
  readonly callers: 'clients' | 'operators'
  readonly clock: Clock
  readonly logger: Logger
}

export class OpenFiles {
  readonly #options: OpenFilesOptions
  readonly #kept: number
  #saidAtMs = -Infinity

  constructor(options: OpenFilesOptions) {
    const kept = Math.min(keptMax, Math.floor(options.max / keptPart))
    this.#options = options
    this.#kept = options.callers === 'clients' ? kept : Math.floor(kept / 2)
  }

  /** Closes a connection that has come when only the kept files are left; false if it did. */
  admit(socket: Socket): boolean {
    const { max } = this.#options
    if (numberOf(socket) < max - this.#kept) return true
    socket.destroy()
    this.#say()
    return false
  }

  #say(): void {
    const { max, callers, clock, logger } = this.#options
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#saidAtMs < saidAgainMs) return
    this.#saidAtMs = nowMs
    logger.error(
      'new connections are closed: the files that are left are kept for etcd, the upstream and certificates; raise the limit of open files (ulimit -n, LimitNOFILE=)',
      { callers, limit: max, kept: this.#kept },
    )
  }
}

/** The number of files that the process may have open, as Linux says it; infinite elsewhere. */
export function openFilesMax(): number {
  let limits
  try {
    limits = readFileSync('/proc/self/limits', 'latin1')
  } catch {
    return Infinity
  }
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity)
}

/** Below every limit where the system has no such numbers. */
function numberOf(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { fd?: number } | null }
  return handle?.fd ?? -1
}
