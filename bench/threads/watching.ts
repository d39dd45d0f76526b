/** A process with watches that cost it little: it reads what has gathered in its sockets now and then, a lot at a time, and only counts it. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

export interface WatchingOrder {
  readonly port: number
  readonly path: string
  readonly watches: number
}

/** How much all watches have been sent so far. */
export interface WatchingReport {
  readonly bytes: number
}

export class WatchingLoad {
  readonly #child = fork(fileURLToPath(import.meta.url), { stdio: 'inherit' })

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Resolves when all watches have begun. */
  start(order: WatchingOrder): Promise<WatchingReport> {
    return this.#ask(order)
  }

  count(): Promise<WatchingReport> {
    return this.#ask('count')
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }

  async #ask(message: WatchingOrder | 'count'): Promise<WatchingReport> {
    this.#child.send(message)
    const [report] = (await once(this.#child, 'message')) as [WatchingReport]
    return report
  }
}

/** Reads are so far apart, and take so much at once. */
const everyMs = 50
const readBytes = 1024 * 1024

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let bytes = 0
  const buffer = Buffer.allocUnsafe(readBytes)
  const sockets: Socket[] = []
  const open = async ({ port, path, watches }: WatchingOrder): Promise<void> => {
    for (let i = 0; i < watches; i++) {
      let isFirst = true
      const socket = connect({
        host: '127.0.0.1',
        port,
        onread: {
          buffer,
          callback(read) {
            bytes += read
            if (isFirst && !buffer.toString('latin1', 0, 12).endsWith(' 200')) {
              throw new Error(buffer.toString('latin1', 0, read))
            }
            isFirst = false
            // More is read in the next round.
            return read === readBytes
          },
        },
      })
      await once(socket, 'connect')
      socket.on('error', error => process.emitWarning(error))
      socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
      sockets.push(socket)
    }
    setInterval(() => {
      for (const socket of sockets) socket.resume()
    }, everyMs)
  }
  process.on('message', (message: WatchingOrder | 'count') => {
    if (message === 'count') process.send?.({ bytes })
    else void open(message).then(() => process.send?.({ bytes }))
  })
  process.on('disconnect', () => process.exit(0))
}
