/** A process that reads lists and only counts their bytes, so that it costs little and holds up nobody who measures something else. */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'

export interface ListOrder {
  readonly port: number
  readonly path: string
}

export interface ListReport {
  readonly bytes: number
  readonly ms: number
}

export class ListReader {
  readonly #child = fork(fileURLToPath(import.meta.url), { stdio: 'inherit' })

  async read(order: ListOrder): Promise<ListReport> {
    this.#child.send(order)
    const [report] = (await once(this.#child, 'message')) as [ListReport]
    return report
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('message', (order: ListOrder) => {
    void read(order).then(report => process.send?.(report))
  })
  process.on('disconnect', () => process.exit(0))
}
