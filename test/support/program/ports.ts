/** Ports for programs that cannot choose one themselves. */

import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const taken = new Set<number>()

/** A port nobody listens on, below those that outgoing connections are given, so that it is still
 *  free when the program binds it. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000)
    if (taken.has(port)) continue
    taken.add(port)
    const server = createServer()
    const isFree = await new Promise<boolean>(resolve => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}
