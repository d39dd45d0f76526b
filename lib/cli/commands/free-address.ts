/** Tries whether an address can be listened on, before work that would be lost. */

import { createServer } from 'node:net'
import { invalid } from '../options/invalid.ts'
import type { ListenAddress } from '../options/listening.ts'

/** Fails with `invalid_request`, naming the option by which the address was given. */
export function requireFree(
  { host, port }: Pick<ListenAddress, 'host' | 'port'>,
  option: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', (error: NodeJS.ErrnoException) => {
      const remedy =
        error.code === 'EADDRINUSE'
          ? `: stop what listens there, or name another address by --${option}`
          : ''
      reject(invalid(`cannot listen on ${host}:${port}: ${error.message}${remedy}`, error))
    })
    server.listen({ host, port }, () => server.close(() => resolve()))
  })
}
