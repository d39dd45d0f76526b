/** Bootstrap of a mirror against a bare paged read of the same data, in turns; and how long the
 *  event loop is held meanwhile. */

import { createHash } from 'node:crypto'
import { allKeys, keyAfter, keyFromText, prefixRange } from '../../lib/base/keys.ts'
import type { Revision } from '../../lib/base/revision.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { median } from '../bench.ts'
import { mirroredPrefix, podsKeyspace, startMirror, untilReady } from './fixture.ts'
import { measureTurns, type TurnReport } from './turns.ts'

/** About as many as a bootstrap asks for at these sizes. */
const barePageEntries = 400

export interface BootstrapReport {
  readonly objects: number
  readonly bareMs: number
  readonly bootstrapMs: number
  /** Turns of the event loop. The bytes are those of a mirror beyond the values themselves. */
  readonly turns: TurnReport
  readonly peakBytes: number
  readonly heldBytes: number
  readonly hash: string
}

export async function measureBootstrap(
  endpoint: string,
  { objects, rounds }: { readonly objects: number; readonly rounds: number },
): Promise<BootstrapReport> {
  const bare: number[] = []
  const bootstrap: number[] = []
  let hash = ''
  // The first round warms up both, and etcd.
  for (let round = 0; round <= rounds; round++) {
    const bareMs = await timeOf(() => readBare(endpoint, objects))
    const bootstrapMs = await timeOf(async () => {
      hash = await bootstrapOnce(endpoint)
    })
    if (round > 0) {
      bare.push(bareMs)
      bootstrap.push(bootstrapMs)
    }
  }
  // The machine may be busy with others: what is ours is there every time.
  const turnReports: TurnReport[] = []
  for (let round = 0; round < rounds; round++) {
    globalThis.gc?.()
    turnReports.push(
      await measureTurns(async () => {
        await bootstrapOnce(endpoint)
      }),
    )
  }
  const [turns] = turnReports.toSorted((a, b) => a.ownMaxMs - b.ownMaxMs)
  if (turns === undefined) throw new Error('no rounds')
  const memory = await measureMemory(endpoint)
  return {
    objects,
    bareMs: median(bare),
    bootstrapMs: median(bootstrap),
    turns,
    ...memory,
    hash,
  }
}

async function timeOf(task: () => Promise<unknown>): Promise<number> {
  globalThis.gc?.()
  const startMs = performance.now()
  await task()
  return performance.now() - startMs
}

/** Page after page, and nothing done with them. */
async function readBare(endpoint: string, objects: number): Promise<void> {
  const client: Client = new GrpcClient({ endpoints: [endpoint] })
  const range = prefixRange(keyFromText(mirroredPrefix))
  let start = range.start
  let revision: Revision | undefined
  let seen = 0
  for (;;) {
    const { entries, more, header } = await client.range({
      range: { start, end: range.end },
      revision,
      limit: barePageEntries,
    })
    revision ??= header.revision
    seen += entries.length
    const last = entries.at(-1)
    if (!more || last === undefined) break
    start = keyAfter(last.key)
  }
  await client.close()
  if (seen < objects) throw new Error(`read ${seen} of ${objects} objects`)
}

/** From nothing to ready; answers a digest of what is there. */
async function bootstrapOnce(endpoint: string): Promise<string> {
  const { mirror, close } = startMirror(endpoint)
  await untilReady(mirror)
  const hash = createHash('sha256')
  const snapshot = mirror.keyspace(podsKeyspace).store.latest()
  hash.update(String(snapshot.size))
  const [first] = snapshot.range(allKeys, { limit: 1 })
  hash.update(first?.key ?? '')
  await close()
  return hash.digest('hex').slice(0, 16)
}

/** The memory of a bootstrap at its height, and what is held after it, beyond what was there
 *  before. */
async function measureMemory(
  endpoint: string,
): Promise<Pick<BootstrapReport, 'peakBytes' | 'heldBytes'>> {
  await collectAll()
  const before = heldNow()
  let peak = before
  const timer = setInterval(() => {
    peak = Math.max(peak, heldNow())
  }, 5)
  const { mirror, close } = startMirror(endpoint)
  await untilReady(mirror)
  clearInterval(timer)
  await collectAll()
  const held = heldNow() - before
  await close()
  return { peakBytes: peak - before, heldBytes: held }
}

/** Buffers are let go of by a second collection, after the first has found them. */
async function collectAll(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.()
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

function heldNow(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
