/** A process with the clients of a bench that watch everything, each on a connection of its own
 *  over TLS. They take all that comes, and count. */

import { once } from 'node:events'
import { connect, type ConnectionOptions } from 'node:tls'
import type { OnReadOpts } from 'node:net'
import { fileURLToPath } from 'node:url'
import { answerOrders, Child } from '../watch/child.ts'

/** Open so many. */
interface OpenOrder {
  readonly type: 'open'
  readonly port: number
  readonly path: string
  readonly watchers: number
}

/** Say how many events have come until now. */
interface CountOrder {
  readonly type: 'count'
}

export type WatchersOrder = OpenOrder | CountOrder

export function startWatchers(): Child {
  return Child.start(import.meta.url)
}

const mark = Buffer.from('{"type":"MODIFIED"')
let events = 0
/** Everything that comes is read into this, and looked at before the next is read. */
const buffer = Buffer.allocUnsafe(64 * 1024)

/** Counts the marks of a stream, also those that come in two pieces. */
class MarkCounter {
  /** The end of what came before, in which a mark may have begun, and the first bytes after it. */
  #joint = Buffer.alloc(0)

  take(bytes: Buffer): void {
    const joint = Buffer.concat([this.#joint, bytes.subarray(0, mark.length - 1)])
    if (joint.includes(mark)) events++
    for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) events++
    const kept = bytes.length < mark.length ? Buffer.concat([this.#joint, bytes]) : bytes
    this.#joint = Buffer.from(kept.subarray(Math.max(0, kept.length - mark.length + 1)))
  }
}

async function open({ port, path, watchers }: OpenOrder): Promise<void> {
  for (let i = 0; i < watchers; i++) {
    const counter = new MarkCounter()
    let isOpen: () => void = () => undefined
    const opened = new Promise<void>(resolve => (isOpen = resolve))
    const options: ConnectionOptions & { readonly onread: OnReadOpts } = {
      host: '127.0.0.1',
      port,
      rejectUnauthorized: false,
      onread: {
        buffer,
        callback(length) {
          isOpen()
          counter.take(buffer.subarray(0, length))
          return true
        },
      },
    }
    const socket = connect(options)
    await once(socket, 'secureConnect')
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`)
    await opened
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  answerOrders((order: WatchersOrder) => (order.type === 'open' ? open(order) : events))
}
