import t from 'tap'
import { defaultLimits } from '../../lib/cache/mirror/limits.ts'
import { startServed, type Served } from '../support/http/served.ts'
import { patient } from '../support/patience.ts'
import { WebSocketClient } from '../support/watch/web-socket-client.ts'
import { frameBytes, golden, type RecordedWatch } from './load.ts'
import { HistoryWriter } from './replay.ts'
import { restartedAt, watchExceptions } from './watch-exceptions.ts'
import { replayWatches, type Stream } from './watch-replay.ts'

/** A recorded watch as it is over a WebSocket: a message for each frame, without its length. */
function overWebSocket(watch: RecordedWatch): RecordedWatch {
  const { response } = watch
  if (response.status !== 200 || response.body !== undefined) return watch
  const isProtobuf = String(response.headers['content-type']).includes('protobuf')
  const frames = watch.frames.map(frame => ({
    offset_ms: frame.offset_ms,
    raw_base64: frameBytes(frame)
      .subarray(isProtobuf ? 4 : 0)
      .toString('base64'),
  }))
  return { ...watch, frames, response: { ...response, status: 101, headers: {} } }
}

async function open(served: Served, { request }: RecordedWatch): Promise<Stream> {
  const lines: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) lines[name] = String(value)
  const client = new WebSocketClient(t, served.service.port, request.path, lines)
  const head = await client.head()
  const headers = Object.fromEntries(
    [...head.matchAll(/^(content-[a-z]+): (.*?)\r$/gim)].map(([, name = '', value]) => [
      name.toLowerCase(),
      value,
    ]),
  )
  const statusCode = Number(head.split(' ')[1])
  const length = Number(headers['content-length'] ?? 0)
  return {
    statusCode,
    headers,
    body: async () => (length === 0 ? Buffer.alloc(0) : client.rest()),
    next: async () => {
      const message = await client.next()
      return message === undefined || message.opcode > 2 ? undefined : message.payload
    },
    close: () => client.socket.destroy(),
  }
}

t.test('every recorded watch has the same events over a WebSocket', async t => {
  const limits = { ...defaultLimits, readWaitMaxMs: patient(500) }
  const first = await startServed(t, { limits })
  const start = () => startServed(t, { limits, client: first.client })
  const restart = { at: restartedAt, start }
  const writer = new HistoryWriter(first.client)
  const watches = golden.watches().map(overWebSocket)
  const exceptions = watchExceptions
  const table = await replayWatches(t, first, { watches, writer, exceptions, restart, open })
  t.ok(table.lines().length > 0)
})
