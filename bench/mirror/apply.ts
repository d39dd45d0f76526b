/** The speed at which a mirror takes changes that were made while it was cut off: as etcd sends
 *  them, and the mirror's own part of that. */

import { CacheError } from '../../lib/base/errors.ts'
import { keyFromText } from '../../lib/base/keys.ts'
import type { Client, WatchRequest, WatchSink, WatchStream } from '../../lib/etcd/client.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { podsKeyspace, startMirror, untilReady, valueBytes } from './fixture.ts'

export interface ApplyReport {
  readonly changes: number
  /** From the opening of the stream to the last change. */
  readonly catchUpMs: number
  /** Part of it in the mirror: checks, tree, history, sink. */
  readonly ownMs: number
}

export async function measureApply(endpoint: string, changes: number): Promise<ApplyReport> {
  const gates: CuttableWatches[] = []
  const { mirror, close } = startMirror(endpoint, {
    wrap: client => {
      const gate = new CuttableWatches(client)
      gates.push(gate)
      return gate.client
    },
  })
  const [watches] = gates
  if (watches === undefined) throw new Error('the mirror has no client')
  await untilReady(mirror)
  watches.cut()
  const last = await write(endpoint, changes)
  watches.ownMs = 0
  const startMs = watches.mend()
  while (mirror.proven(podsKeyspace) < last) await new Promise(resolve => setImmediate(resolve))
  const report = { changes, catchUpMs: performance.now() - (await startMs), ownMs: watches.ownMs }
  await close()
  return report
}

/** Changes objects one by one, many at once, and answers the last revision. */
async function write(endpoint: string, changes: number): Promise<number> {
  const client = new GrpcClient({ endpoints: [endpoint] })
  let last = 0
  let written = 0
  const loop = async (): Promise<void> => {
    while (written < changes) {
      const i = written++
      const key = keyFromText(`/registry/pods/namespace-${i % 50}/pod-${i % 2000}`)
      const value = Buffer.alloc(valueBytes, i % 256)
      const success = [{ type: 'put' as const, key, value }]
      const { header } = await client.txn({ compares: [], success, failure: [] })
      last = Math.max(last, header.revision)
    }
  }
  await Promise.all(Array.from({ length: 64 }, loop))
  await client.close()
  return last
}

/** Streams that can be cut, and that know how long the sink took. */
class CuttableWatches {
  readonly client: Client
  ownMs = 0
  #isCut = false
  #cuts: (() => void)[] = []
  #opened: (atMs: number) => void = () => {}

  constructor(inner: Client) {
    this.client = Object.create(inner, { endpoints: { value: inner.endpoints } }) as Client
    this.client.range = (...args) => inner.range(...args)
    this.client.status = signal => inner.status(signal)
    this.client.watch = (request, sink) => this.#watch(inner, request, sink)
  }

  cut(): void {
    this.#isCut = true
    for (const cut of this.#cuts.splice(0)) cut()
  }

  /** Resolves to the moment when the next stream is opened. */
  mend(): Promise<number> {
    this.#isCut = false
    return new Promise(resolve => {
      this.#opened = resolve
    })
  }

  #watch(inner: Client, request: WatchRequest, sink: WatchSink): WatchStream {
    const stream = inner.watch(request, {
      created: header => sink.created(header),
      changed: (batches, header) => {
        const startMs = performance.now()
        sink.changed(batches, header)
        this.ownMs += performance.now() - startMs
      },
      progress: header => sink.progress(header),
      ended: failure => sink.ended(failure),
    })
    const cut = (): void => {
      stream.cancel()
      sink.ended(new CacheError('source_failed', 'the bench cuts the stream'))
    }
    if (this.#isCut) {
      setTimeout(cut, 1)
    } else {
      this.#cuts.push(cut)
      this.#opened(performance.now())
    }
    return stream
  }
}
