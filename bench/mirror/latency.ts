/** The time that a consistent read waits at the freshness gate, compared with a plain linearizable
 *  range with a count, under the same load and as with the same number in parallel; and how many
 *  reads share a probe when a thousand wait. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import type { Mirror } from '../../lib/cache/mirror/mirror.ts'
import { noMetrics } from '../../lib/cache/mirror/metrics.ts'
import { percentile } from '../bench.ts'
import { mirroredPrefix, quietKeyspace, startMirror, untilReady } from './fixture.ts'

export interface LatencyReport {
  readonly load: string
  readonly concurrency: number
  readonly reads: number
  readonly gate: Percentiles
  readonly bare: Percentiles
}

export interface Percentiles {
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface LatencyPlan {
  readonly rounds: number
  readonly roundMs: number
}

const writesPerSecond = 500

/** Who writes meanwhile, and where. */
const loads: readonly { readonly name: string; readonly prefix: string | undefined }[] = [
  { name: 'quiet', prefix: undefined },
  { name: `${writesPerSecond} writes/s to another prefix`, prefix: `${mirroredPrefix}busy/` },
  { name: `${writesPerSecond} writes/s outside of the mirror`, prefix: '/elsewhere/' },
]

export async function measureLatency(
  endpoint: string,
  { rounds, roundMs }: LatencyPlan,
): Promise<LatencyReport[]> {
  const { mirror, close } = startMirror(endpoint)
  const bareClient = new GrpcClient({ endpoints: [endpoint] })
  const reports: LatencyReport[] = []
  try {
    await untilReady(mirror)
    for (const { name, prefix } of loads) {
      const writer = prefix === undefined ? undefined : await startWriter(endpoint, prefix)
      for (const concurrency of [1, 16]) {
        const gate: number[] = []
        const bare: number[] = []
        for (let round = 0; round <= rounds; round++) {
          const times = await repeat(concurrency, roundMs, () => readThroughGate(mirror))
          const bareTimes = await repeat(concurrency, roundMs, () => readBare(bareClient))
          // The first round is to warm up.
          if (round === 0) continue
          gate.push(...times)
          bare.push(...bareTimes)
        }
        reports.push({
          load: name,
          concurrency,
          reads: gate.length,
          gate: percentilesOf(gate),
          bare: percentilesOf(bare),
        })
      }
      await stopWriter(writer)
    }
  } finally {
    await close()
    await bareClient.close()
  }
  return reports
}

/** Reads that share a probe, on average, while so many wait. */
export async function measureSharing(
  endpoint: string,
  { waiting, forMs }: { readonly waiting: number; readonly forMs: number },
): Promise<number> {
  let probes = 0
  let reads = 0
  const metrics = {
    ...noMetrics,
    probe: (_outcome: string, shared: number) => {
      probes++
      reads += shared
    },
  }
  const { mirror, close } = startMirror(endpoint, { metrics })
  await untilReady(mirror)
  probes = 0
  reads = 0
  await repeat(waiting, forMs, () => readThroughGate(mirror))
  await close()
  return reads / probes
}

async function readThroughGate(mirror: Mirror): Promise<void> {
  await mirror.read(quietKeyspace, { freshness: { type: 'consistent' }, elsewhere: 'nowhere' })
}

async function readBare(client: GrpcClient): Promise<void> {
  const range = singleKey(keyFromText(mirroredPrefix))
  await client.range({ range, countOnly: true })
}

/** Keeps so many tasks under way for a time; answers how long each took. */
async function repeat(
  concurrency: number,
  forMs: number,
  task: () => Promise<void>,
): Promise<number[]> {
  const times: number[] = []
  const endMs = performance.now() + forMs
  const loop = async (): Promise<void> => {
    for (;;) {
      const startMs = performance.now()
      if (startMs >= endMs) return
      await task()
      times.push(performance.now() - startMs)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
  return times
}

function percentilesOf(times: readonly number[]): Percentiles {
  return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
}

async function startWriter(endpoint: string, prefix: string): Promise<ChildProcess> {
  const file = fileURLToPath(new URL('./writer.js', import.meta.url))
  const writer = fork(file, [endpoint, prefix, String(writesPerSecond)])
  await once(writer, 'message')
  return writer
}

async function stopWriter(writer: ChildProcess | undefined): Promise<void> {
  if (writer === undefined) return
  if (!writer.connected) throw new Error('the writer of the load has ended too early')
  const exited = once(writer, 'exit')
  writer.disconnect()
  await exited
}
