/** The port on which all threads listen, each with a socket of its own (`reusePort`): the kernel
 *  spreads the connections over them. `--threads` is refused where that is not possible
 *  (lib/cli/commands/plan/threads.ts). */

import * as net from 'node:net'
import { CacheError } from '@watchglass/base'

/** Fails where somebody else listens: otherwise the system would have our threads share the port
 *  with another process that shares its own. */
export async function sharePort(host: string, port: number): Promise<SharedPort> {
  if (port !== 0) {
    const server = net.createServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', ({ message }) => {
        reject(new CacheError('invalid_request', `cannot listen on ${host}:${port}: ${message}`))
      })
      server.listen({ host, port }, () => server.close(() => resolve()))
    })
  }
  return new SharedPort(port)
}

export class SharedPort {
  #port: number
  /** The first thread finds out which port the system chooses. */
  #chosen: Promise<void> | undefined = undefined
  #onChosen: () => void = () => {}

  constructor(port: number) {
    this.#port = port
  }

  /** The port of one more thread; 0 for the first one, if the system is to choose. */
  async next(): Promise<number> {
    if (this.#port === 0) {
      if (this.#chosen !== undefined) await this.#chosen
      else this.#chosen = new Promise(resolve => (this.#onChosen = resolve))
    }
    return this.#port
  }

  /** A thread listens on this port. */
  taken(port: number): void {
    this.#port = port
    this.#onChosen()
  }
}
