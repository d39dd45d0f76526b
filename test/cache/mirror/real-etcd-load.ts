/** Writers and readers around a mirror of a real etcd, and what they find out about its answers. */

import type { ReadOutcome } from '../../../lib/cache/mirror/reads/read.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import assert from 'node:assert/strict'
import { allKeys, keyFromText, prefixRange, singleKey } from '../../../lib/base/keys.ts'
import { CacheError } from '../../../lib/base/errors.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import type { Client, RangeRequest, RangeResponse } from '../../../lib/etcd/client.ts'
import { GrpcClient } from '../../../lib/etcd/grpc/client.ts'
import { compactRevisionKey } from '../../../lib/cache/mirror/feed/compaction.ts'
import { defaultLimits } from '../../../lib/cache/mirror/limits.ts'
import { Mirror } from '../../../lib/cache/mirror/mirror.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { systemClock, systemRandom } from '../../../lib/cache/ops/system.ts'
import {
  countingMetrics,
  RecordingSink,
  historyBounds,
  nameOf,
} from '../../support/mirror/mirror-builders.ts'
import { patient } from '../../support/patience.ts'

const keyspaces = ['a', 'b']
const keysPerWriter = 20
const writers = 16
const readers = 6

/** A linearizable answer that was older than it may be: etcd's own mistake, possible before 3.5.28
 *  after a pause. */
interface StaleProbe {
  readonly atMs: number
  readonly revision: Revision
}

export interface LoadReport {
  readonly writes: number
  readonly reads: Readonly<Record<string, number>>
  /** Consistent reads that were too old because etcd's own probe was. */
  readonly etcdsMistakes: number
  readonly checkedStates: number
}

export class EtcdLoad {
  readonly mirror: Mirror
  readonly counts: ReadonlyMap<string, number>
  readonly warnings: string[] = []
  /** Client of the writers and of the comparison at the end: apart from the mirror's. */
  readonly client: GrpcClient
  readonly #mirrorClient: LaggingClient
  readonly #staleProbes: StaleProbe[] = []
  readonly #reads: Record<string, number> = {}
  readonly #running: Promise<unknown>[] = []
  readonly #wrong: string[] = []
  #floor = 0
  #writes = 0
  #etcdsMistakes = 0
  #checkedStates = 0
  #isStopping = false
  #writesPerSecond: number

  constructor(endpoints: readonly string[], options: { writesPerSecond: number }) {
    this.#writesPerSecond = options.writesPerSecond
    this.client = new GrpcClient({ endpoints })
    this.#mirrorClient = new LaggingClient(new GrpcClient({ endpoints }), {
      floor: () => this.#floor,
      onStale: revision => this.#staleProbes.push({ atMs: Date.now(), revision }),
    })
    const { metrics, counts } = countingMetrics()
    this.counts = counts
    this.mirror = new Mirror({
      client: this.#mirrorClient.client,
      clock: systemClock,
      random: systemRandom,
      limits: { ...defaultLimits, selfCheckIntervalMs: 5000, selfCheckPageEntries: 100 },
      logger: { ...silentLogger, warn: message => this.warnings.push(message) },
      metrics,
      sink: new RecordingSink(),
      ranges: [prefixRange(keyFromText('/r/'))],
      keyspaceOf: nameOf,
      compactRevisionKey,
    })
    for (const name of keyspaces) {
      this.mirror.add({ name, range: rangeOf(name), history: historyBounds })
    }
  }

  get writes(): number {
    return this.#writes
  }

  /** Endpoint that the mirror watches now. */
  get endpoint(): string | undefined {
    return this.mirror.statuses()[0]?.endpoint
  }

  start(): void {
    this.mirror.start()
    for (let i = 0; i < writers; i++) this.#running.push(this.#write(i))
    for (let i = 0; i < readers; i++) this.#running.push(this.#read())
  }

  /** Waits until every keyspace is ready and something newer than now has been read and written:
   *  for up to a second after an outage a client still says what it has found in it, and that of
   *  the writers is not the mirror's. */
  async untilReady(): Promise<void> {
    const deadline = Date.now() + patient(60_000)
    const reads = this.#reads['consistent'] ?? 0
    const writes = this.#writes
    for (;;) {
      const isReady = this.mirror.statuses().every(({ state }) => state === 'ready')
      const isRead = (this.#reads['consistent'] ?? 0) > reads + readers
      if (isReady && isRead && this.#writes > writes) return
      assert.ok(Date.now() < deadline, `not ready: ${JSON.stringify(this.mirror.statuses())}`)
      await pause(20)
    }
  }

  /** Waits until so much is written and an answer was compared with etcd's: on a busy machine few
   *  reads are answered by then. */
  async untilWritten(count: number): Promise<void> {
    this.#writesPerSecond = Infinity
    while (this.#writes < count || this.#checkedStates === 0) await pause(20)
  }

  /** Ends the mirror's streams, and opens none until `task` is done. */
  async whileLagging(task: () => Promise<void>): Promise<void> {
    this.#mirrorClient.cutWatches()
    await task()
    this.#mirrorClient.mendWatches()
  }

  /** Ends the load, compares the mirror with etcd key for key, and stops everything. */
  async finish(): Promise<LoadReport> {
    this.#isStopping = true
    await Promise.all(this.#running)
    for (const name of keyspaces) await this.#compare(name)
    await this.close()
    assert.deepEqual(this.#wrong, [])
    return {
      writes: this.#writes,
      reads: this.#reads,
      etcdsMistakes: this.#etcdsMistakes,
      checkedStates: this.#checkedStates,
    }
  }

  async close(): Promise<void> {
    this.#isStopping = true
    await this.mirror.stop()
    await Promise.all([this.client.close(), this.#mirrorClient.client.close()])
  }

  async #write(writer: number): Promise<void> {
    for (let i = 0; !this.#isStopping; i++) {
      const name = keyspaces[i % keyspaces.length]!
      const key = keyFromText(`/r/${name}/${writer}-${(i * 7) % keysPerWriter}`)
      const isDelete = i % 11 === 10
      try {
        const { header } = await this.client.txn({
          compares: [],
          success: [
            isDelete
              ? { type: 'delete', range: singleKey(key) }
              : { type: 'put', key, value: Buffer.from(`${writer}-${i}`) },
          ],
          failure: [],
        })
        this.#floor = Math.max(this.#floor, header.revision)
        this.#writes++
      } catch {
        await pause(50)
      }
      const dueMs = (1000 * writers) / this.#writesPerSecond
      if (dueMs > 0) await pause(dueMs)
    }
  }

  async #read(): Promise<void> {
    let answered = 0
    for (let i = 0; !this.#isStopping; i++) {
      const name = keyspaces[i % keyspaces.length]!
      const floor = this.#floor
      const startMs = Date.now()
      const options = {
        freshness: { type: 'consistent' },
        elsewhere: i % 2 === 0 ? 'anywhere' : 'nowhere',
      } as const
      const result = await Promise.resolve(this.mirror.read(name, options)).catch(
        (error: unknown) => CacheError.from(error, 'source_failed'),
      )
      if (result instanceof CacheError) {
        this.#count(result.code)
        await pause(20)
      } else if (result.from === 'elsewhere') {
        this.#count(result.reason)
        await pause(20)
      } else {
        this.#count('consistent')
        this.#judge(result, { name, floor, startMs })
        if (answered++ % 10 === 0) await this.#compareState(name, result)
      }
      await pause(15)
    }
  }

  #count(outcome: string): void {
    this.#reads[outcome] = (this.#reads[outcome] ?? 0) + 1
  }

  #judge(
    { snapshot }: Extract<ReadOutcome, { from: 'mirror' }>,
    { name, floor, startMs }: { name: string; floor: number; startMs: number },
  ): void {
    if (snapshot.revision >= floor) return
    const mistake = this.#staleProbes.find(
      one => one.atMs >= startMs && one.revision <= snapshot.revision,
    )
    if (mistake !== undefined) this.#etcdsMistakes++
    else this.#wrong.push(`${name} at ${snapshot.revision}, which must contain ${floor}`)
  }

  /** An answer is the exact state of etcd at its revision. */
  async #compareState(
    name: string,
    { snapshot }: Extract<ReadOutcome, { from: 'mirror' }>,
  ): Promise<void> {
    const { revision } = snapshot
    const request = { range: rangeOf(name), revision, keysOnly: true }
    // etcd may have compacted it, or be down.
    const theirs = await this.client.range(request).catch(() => undefined)
    if (theirs === undefined) return
    this.#checkedStates++
    const mine = snapshot.range(allKeys)
    if (digest(mine) !== digest(theirs.entries)) this.#wrong.push(`${name} differs at ${revision}`)
  }

  async #compare(name: string): Promise<void> {
    const { entries } = await this.client.range({ range: rangeOf(name) })
    for (let attempt = 1; ; attempt++) {
      const [last] = entries.map(entry => entry.modRevision).toSorted((x, y) => y - x)
      const freshness = { type: 'not-older-than', revision: last ?? (1 as Revision) } as const
      const options = { freshness, elsewhere: 'nowhere' } as const
      const outcome = await Promise.resolve(this.mirror.read(name, options)).catch(
        (error: unknown) => CacheError.from(error, 'source_failed'),
      )
      if (outcome instanceof CacheError || outcome.from !== 'mirror') {
        assert.ok(attempt < 20, `${name} cannot be read in the end`)
        continue
      }
      assert.equal(digest(outcome.snapshot.range(allKeys)), digest(entries))
      assert.deepEqual(valuesOf(outcome.snapshot.range(allKeys)), valuesOf(entries))
      return
    }
  }
}

/** The mirror's client: notices linearizable answers that are too old, and can be kept from
 *  watching. */
class LaggingClient {
  readonly client: Client
  #isCut = false
  #cutStreams: (() => void)[] = []

  constructor(
    inner: GrpcClient,
    { floor, onStale }: { floor: () => number; onStale: (revision: Revision) => void },
  ) {
    const client = Object.create(inner, { endpoints: { value: inner.endpoints } }) as Client
    client.range = async (request: RangeRequest, signal?: AbortSignal): Promise<RangeResponse> => {
      const known = floor()
      const response = await inner.range(request, signal)
      if (response.header.revision < known) onStale(response.header.revision)
      return response
    }
    client.watch = (request, sink) => {
      const stream = inner.watch(request, sink)
      const cut = (): void => {
        stream.cancel()
        sink.ended(new CacheError('source_failed', 'the test cuts the stream'))
      }
      if (this.#isCut) setTimeout(cut, 1)
      else this.#cutStreams.push(cut)
      return stream
    }
    client.status = signal => inner.status(signal)
    Object.defineProperty(client, 'connections', { get: () => inner.connections })
    client.close = () => inner.close()
    this.client = client
  }

  cutWatches(): void {
    this.#isCut = true
    const cuts = this.#cutStreams
    this.#cutStreams = []
    for (const cut of cuts) cut()
  }

  mendWatches(): void {
    this.#isCut = false
  }
}

function rangeOf(name: string): ReturnType<typeof prefixRange> {
  return prefixRange(keyFromText(`/r/${name}/`))
}

function digest(entries: readonly KeyValue[]): string {
  return entries.map(({ key, modRevision }) => `${key}@${modRevision}`).join(' ')
}

function valuesOf(entries: readonly KeyValue[]): string[] {
  return entries.map(entry => Buffer.from(entry.value).toString())
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms)
  })
}
