/** A port that nobody listens at. */

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Somebody may take it before it is used. */
export async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
