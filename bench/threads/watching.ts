/** A process with watches that cost it little: it reads what has gathered in its sockets now and
 *  then, a lot at a time, and only counts it. */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { answerOrders, Child } from '../watch/child.ts'

export interface WatchingOrder {
  readonly port: number
  readonly path: string
  readonly watches: number
}

/** The bytes that all watches have been sent so far. */
export interface WatchingReport {
  readonly bytes: number
}

/** Its first order opens the watches; `count` counts what has come. */
export function startWatching(): Child {
  return Child.start(import.meta.url)
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
  answerOrders(async (order: WatchingOrder | 'count'): Promise<WatchingReport> => {
    if (order !== 'count') await open(order)
    return { bytes }
  })
}
