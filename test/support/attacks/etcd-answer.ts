/** A call of our client of etcd, and a server that answers it with any bytes. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { CallStatus } from '../../../lib/etcd/grpc/call.ts'
import { Connection } from '../../../lib/etcd/grpc/connection.ts'
import { frameType } from '../../../lib/etcd/http2/frames.ts'
import { pseudoField } from '../../../lib/etcd/http2/hpack/encoder.ts'
import { frame } from './raw-http2.ts'

export interface Outcome {
  readonly messages: readonly string[]
  readonly status: CallStatus
}

const nothing = Buffer.alloc(0)
const settings = frame(frameType.settings, 0, 0, nothing)

/** The outcome of a call to which a server sends these bytes, if it has no deadline. */
export async function outcomeOf(bytes: Buffer, deadlineMs: number = Infinity): Promise<Outcome> {
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.write(settings)
    // The call has the word of its path.
    socket.on('data', (asked: Buffer) => {
      if (!asked.includes('question')) return
      if (deadlineMs === Infinity) socket.end(bytes)
      else socket.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const connection = await new Promise<Connection>(resolve => {
    const made: Connection = new Connection(socket, {
      nowMs: () => 0,
      onReady: () => resolve(made),
      onEnd: () => undefined,
      onClosed: () => undefined,
    })
  })
  const block = pseudoField(':path', '/question')
  const messages: string[] = []
  return new Promise(resolve => {
    connection.open(
      { block, message: nothing, isShort: true, deadlineMs },
      {
        message: got => messages.push(got.toString('hex')),
        ended: status => {
          connection.destroy('the test is over')
          server.close()
          resolve({ messages, status })
        },
      },
    )
  })
}
