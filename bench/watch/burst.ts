/** A burst: thousands of objects are deleted in one transaction, as `etcdctl del --prefix` does.
 *  How soon all who watch them have been told, compared with a minimal server that writes the same
 *  frames, one write for each; and how late the small gets of others are meanwhile. */

import type { BenchOptions, BenchTable, Floor } from '../bench.ts'
import type { Child } from './child.ts'
import type { GetsReport, TakeReport, UsageReport } from './orders.ts'
import { startChild } from './processes.ts'

interface Scale {
  readonly objects: number
  readonly watchers: readonly number[]
  /** The ceiling writes no more frames than this in all, and its time is multiplied: one write for
   *  each of sixty million frames takes it minutes. */
  readonly ceilingFrames: number
}

const full: Scale = { objects: 60_000, watchers: [1, 100, 1_000], ceilingFrames: 6_000_000 }
const small: Scale = { objects: 600, watchers: [1, 10], ceilingFrames: 6_000 }

const floors = { times: 2, lateMs: 100 }
const path =
  '/api/v1/configmaps?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600'
const listPath =
  '/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1'
const getPath = '/api/v1/namespaces/bench-0/pods/pod-000000?resourceVersion=0'
const getEveryMs = 2

export async function measureBurst({ size, progress }: BenchOptions): Promise<{
  readonly table: BenchTable
  readonly floors: readonly Floor[]
}> {
  const scale = size === 'full' ? full : small
  const source = await startChild('burst-source', 'others')
  const server = await startChild('server', 'alone', [String(source.hello)])
  const ceiling = await startChild('ceiling', 'alone')
  const watchers = await startChild('burst-watchers', 'others')
  const bystander = await startChild('burst-watchers', 'others')
  const children = [source, server, ceiling, watchers, bystander].map(({ child }) => child)
  const [ours, theirs] = [Number(server.hello), Number(ceiling.hello)]
  const rows: (string | number)[][] = []
  const met: Floor[] = []
  const burst = { source: source.child, watchers: watchers.child, bystander: bystander.child }
  try {
    for (const count of scale.watchers) {
      progress(`${scale.objects} objects are deleted, ${count} watch them`)
      await source.child.ask({ type: 'make', objects: scale.objects })
      await ceiling.child.ask({ type: 'copy', port: ours, path: listPath })
      const frames = Math.min(scale.objects, Math.floor(scale.ceilingFrames / count))
      await burst.watchers.ask({ type: 'watch all', port: theirs, path: '/', watchers: count })
      const bare = await costOf(ceiling.child, () => pour(burst.watchers, ceiling.child, frames))
      const part = scale.objects / frames
      const bareMs = bare.restMs * part
      const order = { port: ours, watchers: count, objects: scale.objects }
      const got = await costOf(server.child, () => deleteAll(burst, order))
      const name = `${scale.objects} deleted, ${count} watchers`
      const times = got.restMs / bareMs
      const { times: most, lateMs } = floors
      met.push(
        { name, value: times, bound: 'at most', limit: most, unit: 'times a bare server' },
        {
          name: `${name}, gets`,
          value: got.lateMaxMs,
          bound: 'at most',
          limit: lateMs,
          unit: 'ms',
        },
      )
      const ms = [got.firstMs, got.restMs, bareMs].map(Math.round)
      const cpus = [got.cpuSeconds.toFixed(2), (bare.cpuSeconds * part).toFixed(2)]
      rows.push([count, ...ms, times.toFixed(2), ...cpus, got.gets, got.lateMaxMs.toFixed(1)])
    }
  } finally {
    for (const child of children.toReversed()) await child.stop()
  }
  const title = `${scale.objects} objects deleted at once`
  const times = ['to the first ms', 'from there to the last ms', 'bare ms', 'times']
  const columns = ['watchers', ...times, 'cpu s', 'bare cpu s', 'gets', 'latest get ms']
  return { table: { title, columns, rows }, floors: met }
}

interface Burst {
  readonly source: Child
  readonly watchers: Child
  readonly bystander: Child
}

/** Something that is done, and the time of a process's processor that it took. */
async function costOf<T>(child: Child, task: () => Promise<T>): Promise<T & Cost> {
  const usage = { type: 'usage', isSettled: false }
  const before = await child.ask<UsageReport>(usage)
  const result = await task()
  const after = await child.ask<UsageReport>(usage)
  return { ...result, cpuSeconds: after.cpuSeconds - before.cpuSeconds }
}

interface Cost {
  readonly cpuSeconds: number
}

async function deleteAll(
  { source, watchers, bystander }: Burst,
  asked: { readonly port: number; readonly watchers: number; readonly objects: number },
): Promise<TakeReport & GetsReport> {
  const { port } = asked
  await watchers.ask({ type: 'watch all', port, path, watchers: asked.watchers })
  await bystander.ask({ type: 'gets', port, path: getPath, everyMs: getEveryMs })
  const taking = watchers.ask<TakeReport>({ type: 'take', frames: asked.objects })
  await source.ask({ type: 'delete all' })
  const taken = await taking
  const gets = await bystander.ask<GetsReport>({ type: 'stop' })
  await watchers.ask({ type: 'watch all', port, path, watchers: 0 })
  return { ...taken, ...gets }
}

async function pour(watchers: Child, ceiling: Child, frames: number): Promise<TakeReport> {
  const taking = watchers.ask<TakeReport>({ type: 'take', frames })
  await ceiling.ask({ type: 'pour', frames })
  return taking
}
