/** A process that reads lists and only counts their bytes, so that it costs little and holds up
 *  nobody who measures something else. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { answerOrders, Child } from '../watch/child.ts'

export interface ListOrder {
  readonly port: number
  readonly path: string
}

export interface ListReport {
  readonly bytes: number
  readonly ms: number
}

export function startListReader(): Child {
  return Child.start(import.meta.url)
}

const readBytes = 1024 * 1024

async function read({ port, path }: ListOrder): Promise<ListReport> {
  const buffer = Buffer.allocUnsafe(readBytes)
  let bytes = 0
  const startMs = performance.now()
  const callback = (some: number): boolean => {
    if (bytes === 0 && !buffer.toString('latin1', 0, 12).endsWith(' 200')) {
      throw new Error(`${path}: ${buffer.toString('latin1', 0, Math.min(some, 200))}`)
    }
    bytes += some
    return true
  }
  const socket = connect({ port, host: '127.0.0.1', onread: { buffer, callback } })
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)
  await once(socket, 'close')
  return { bytes, ms: performance.now() - startMs }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) answerOrders(read)
