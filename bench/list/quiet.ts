/** A consistent list of a resource without objects, while others are written: the cost of waiting
 *  for a fresh mirror, compared with a bare linearizable range of the same etcd. */

import { once } from 'node:events'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../test/support/etcd/real-etcd.ts'
import { percentile } from '../bench.ts'
import type { HttpVersion, Pace } from './compare.ts'
import type { LoadOrder } from './load.ts'
import { Load, Program } from './processes.ts'

export interface QuietReport {
  readonly version: HttpVersion
  readonly inFlight: number
  readonly list: Percentiles
  readonly bare: Percentiles
}

export interface Percentiles {
  readonly count: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export const writesPerSecond = 500

/** Undefined where there is no etcd to measure with. */
export async function measureQuiet(pace: Pace): Promise<QuietReport[] | undefined> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) return undefined
  const tasks: (() => Promise<unknown>)[] = []
  try {
    const { endpoints } = await startEtcd({ teardown: task => tasks.push(task) }, etcd)
    const endpoint = String(endpoints[0])
    const program = await Program.start([`--etcd=${endpoint}`])
    tasks.push(() => program.stop())
    const load = new Load()
    tasks.push(() => load.stop())
    tasks.push(await startWriter(endpoint))
    const reports: QuietReport[] = []
    for (const version of ['1.1', '2'] as const) {
      for (const inFlight of [1, 16]) {
        const api = { type: 'api' as const, port: program.port, version }
        const orders = {
          list: orderOf(api, '/api/v1/persistentvolumes', { inFlight, pace }),
          bare: orderOf({ type: 'etcd', endpoint }, '/registry/nothing', { inFlight, pace }),
        }
        reports.push({ version, inFlight, ...(await inTurn(load, orders, pace.rounds)) })
      }
    }
    return reports
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

function orderOf(
  target: LoadOrder['target'],
  path: string,
  { inFlight, pace }: { readonly inFlight: number; readonly pace: Pace },
): LoadOrder {
  return { target, paths: [path], headers: {}, inFlight, ms: pace.roundMs }
}

async function inTurn(
  load: Load,
  orders: { readonly list: LoadOrder; readonly bare: LoadOrder },
  rounds: number,
): Promise<Pick<QuietReport, 'list' | 'bare'>> {
  const list: number[] = []
  const bare: number[] = []
  // The first round is to warm up.
  for (let round = 0; round <= rounds; round++) {
    const { timesMs: listMs } = await load.run(orders.list)
    const { timesMs: bareMs } = await load.run(orders.bare)
    if (round === 0) continue
    list.push(...listMs)
    bare.push(...bareMs)
  }
  return { list: percentilesOf(list), bare: percentilesOf(bare) }
}

function percentilesOf(times: readonly number[]): Percentiles {
  return { count: times.length, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
}

/** Writes to another resource. The answer stops it. */
async function startWriter(endpoint: string): Promise<() => Promise<unknown>> {
  const file = fileURLToPath(new URL('../mirror/writer.js', import.meta.url))
  const writer = fork(file, [endpoint, '/registry/configmaps/busy/', String(writesPerSecond)])
  await once(writer, 'message')
  return () => {
    const exited = once(writer, 'exit')
    writer.disconnect()
    return exited
  }
}
