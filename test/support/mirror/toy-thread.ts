/** A worker that says what it has of keyspace `/r/a/`, and dies when it is asked to. */

import { createServer } from 'node:http'
import type { ListenOptions } from 'node:net'
import type { CacheError } from '../../../lib/base/errors.ts'
import { noMetrics } from '../../../lib/cache/mirror/metrics.ts'
import { allKeys } from '../../../lib/base/keys.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { WorkerThread } from '../../../lib/workers/process/worker-thread.ts'
import { historyBounds } from './mirror-builders.ts'

const thread = WorkerThread.here()!
const { number, port } = thread.data
let isReady = false
let isPassing = false
const mirrors = thread.createMirrors({
  clock: systemClock,
  metrics: noMetrics,
  history: historyBounds,
  sink: {
    applied: () => {},
    progressed: () => {},
    reset: () => {},
    stateChanged: (_, state) => {
      if (state !== 'ready' || isReady) return
      isReady = true
      thread.tell({ type: 'ready' })
    },
  },
})
mirrors.start()

const server = createServer((request, response) => {
  if (request.url === '/die') throw new Error('a bug')
  if (request.url?.startsWith('/ask?') === true) {
    void thread.ask(decodeURI(request.url.slice(5))).then(
      answer => response.end(JSON.stringify({ answer })),
      ({ code, message }: CacheError) => {
        response.end(JSON.stringify({ answer: `${code}: ${message}` }))
      },
    )
    return
  }
  const read = mirrors.read('/r/a/', {
    freshness: { type: 'consistent' },
    elsewhere: 'nowhere',
  })
  void Promise.resolve(read).then(outcome => {
    if (outcome.from !== 'mirror') throw new Error(outcome.reason)
    const entries = outcome.snapshot.range(allKeys)
    const isShared = entries.every(({ bytes }) => bytes.buffer instanceof SharedArrayBuffer)
    const values = entries.map(({ value }) => Buffer.from(value).toString())
    response.setHeader('connection', 'close')
    response.end(JSON.stringify({ number, values, isShared, isPassing }))
  })
})
server.listen({ port, host: '127.0.0.1', reusePort: true } as ListenOptions, () => {
  const address = server.address()
  thread.tell({ type: 'listening', port: typeof address === 'object' ? (address?.port ?? 0) : 0 })
})

/** It keeps more the higher its number is. */
let segmentBytes = 1000 * number
let drops = 0
function tellFigures(): void {
  thread.tell({ type: 'figures', figures: { segmentBytes, indexBytes: 0, openWatches: 0 }, drops })
}
tellFigures()

thread.onOrder(order => {
  if (order.type === 'give-metrics') {
    const text = `# HELP toys_total Toys.\n# TYPE toys_total counter\ntoys_total ${number}\n`
    thread.tell({ type: 'metrics', id: order.id, text })
  } else if (order.type === 'drop') {
    // It says what it had once more, as if that had been on the way.
    tellFigures()
    drops++
    segmentBytes = order.bytes
    tellFigures()
  } else if (order.type === 'pass-through') isPassing = order.isOn
  else if (order.type === 'stop') process.exit(0)
})
