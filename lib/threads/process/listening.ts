/** One port for several threads. Where Node can ask for it (from 22.12) each thread listens on the port by itself, and the kernel spreads
 *  the connections. Before, all accept from one socket: each thread needs a descriptor of its own, because the one that ends closes its
 *  descriptor. Node cannot duplicate one, but the system does when it is sent to another process; so a child process sends it back. */

import { fork } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import * as net from 'node:net'
import { CacheError } from '../../base/errors.ts'
import type { Listening } from './thread-messages.ts'

export interface SharedPort {
  /** How one more thread listens. */
  next(): Promise<Listening>
  /** A thread listens on this port. */
  taken(port: number): void
  close(): void
}

/** A bound socket, as Node has it inside. */
interface Handle {
  readonly fd: number
  close(): void
}

/** How Node's own cluster module binds a socket that it does not accept from. */
interface NetInternals {
  _createServerHandle?(
    host: string,
    port: number,
    family: 4 | 6,
    fd: undefined,
    flags: number,
  ): Handle | number
}

export async function sharePort(host: string, port: number): Promise<SharedPort> {
  if (port !== 0) await requireFree(host, port)
  if (canSharePort()) return new OwnSockets(port)
  const { address, family } = await lookup(host).catch((error: unknown) => {
    throw cannotListen(host, port, (error as Error).message)
  })
  const internals = net as unknown as NetInternals
  const handle = internals._createServerHandle?.(address, port, family === 6 ? 6 : 4, undefined, 0)
  if (handle === undefined || typeof handle === 'number') {
    throw cannotListen(
      host,
      port,
      handle === undefined ? 'this Node cannot share it' : `error ${handle}`,
    )
  }
  return new OneSocket(handle)
}

/** Fails where somebody else listens. Otherwise the system would have our threads share the port with another such process, or a socket that
 *  could not be bound would listen on any port. */
async function requireFree(host: string, port: number): Promise<void> {
  const server = net.createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => reject(cannotListen(host, port, message)))
    server.listen({ host, port }, () => server.close(() => resolve()))
  })
}

/** `reusePort` came with these, and works on Linux. */
function canSharePort(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return (
    process.platform === 'linux' &&
    (major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12))
  )
}

function cannotListen(host: string, port: number, reason: string): CacheError {
  return new CacheError('invalid_request', `cannot listen on ${host}:${port}: ${reason}`)
}

class OwnSockets implements SharedPort {
  #port: number
  /** The first thread finds out which port the system chooses. */
  #chosen: Promise<void> | undefined = undefined
  #onChosen: () => void = () => {}

  constructor(port: number) {
    this.#port = port
  }

  async next(): Promise<Listening> {
    if (this.#port === 0) {
      if (this.#chosen !== undefined) await this.#chosen
      else this.#chosen = new Promise(resolve => (this.#onChosen = resolve))
    }
    return { type: 'port', port: this.#port }
  }

  taken(port: number): void {
    this.#port = port
    this.#onChosen()
  }

  close(): void {}
}

class OneSocket implements SharedPort {
  readonly #handle: Handle

  constructor(handle: Handle) {
    this.#handle = handle
  }

  async next(): Promise<Listening> {
    return { type: 'descriptor', descriptor: await duplicateOf(this.#handle) }
  }

  taken(): void {}

  close(): void {
    this.#handle.close()
  }
}

/** The thread that gets the descriptor closes it; here it is never closed, or it would be closed twice. */
const given = new Set<Handle>()

const echoMaxMs = 10_000

function duplicateOf(handle: Handle): Promise<number> {
  const child = fork(new URL('./echo-handle.js', import.meta.url), { execArgv: [], env: {} })
  return new Promise<number>((resolve, reject) => {
    const failed = (): void => {
      child.kill()
      reject(new CacheError('closed', 'the listening socket could not be duplicated'))
    }
    const timer = setTimeout(failed, echoMaxMs)
    child.once('message', (_, duplicate) => {
      clearTimeout(timer)
      child.disconnect()
      const own = duplicate as unknown as Handle | undefined
      if (own === undefined) {
        failed()
        return
      }
      given.add(own)
      resolve(own.fd)
    })
    child.once('error', failed)
    child.send('socket', handle as unknown as net.Server)
  })
}
