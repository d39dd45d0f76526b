/** Requests through the proxy, compared with requests directly to the upstream: gets that cannot be
 *  answered here, a list of 40 MB, and the memory of a hundred long streams that their clients do
 *  not read. The upstream, the proxy and the clients are separate processes, with TLS between all
 *  of them.
 *
 *  The upstream stands in for a kube-apiserver: its etcd is in another process, it reads each
 *  requested object from there, and it encodes each list again. It is still far faster than a
 *  kube-apiserver, which also decodes protobuf into objects, authenticates, authorizes and audits.
 *
 *  The next rows, without a floor, have the fastest upstream that we can build: our own server over
 *  an etcd in the same process, which sends cached bytes. The last rows have the same upstream
 *  behind a process that knows nothing of HTTP and only copies bytes from one TLS connection to
 *  another. On a machine with two processors the three processes compete when the upstream costs
 *  nothing: such a pipe passes four tenths of the bytes a second that come without it. That ratio
 *  shows what the machine and Node's TLS allow, and says nothing about the proxy; the proxy's cost
 *  is the processor time in the last columns. */

import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { ask } from '../../test/support/http/served.ts'
import { freePort } from '../../test/support/program/ports.ts'
import type { Bench, BenchOptions, BenchResult, BenchTable, Floor } from '../bench.ts'
import { compare, type Comparison, type Pace, type Question } from '../list/compare.ts'
import { Http1Client } from '../list/http1-client.ts'
import { Load, Program, type Subject } from '../list/processes.ts'
import { ProcessUsage } from './process-usage.ts'
import type { UpstreamReport } from './upstream.ts'

export const proxyBench: Bench = {
  name: 'proxy',
  summary: 'what passes to the upstream, against asking the upstream oneself',
  run,
}

interface Size {
  readonly pods: number
  readonly streams: number
  readonly pace: Pace
  /** Pace of lists, of which there are few in a second. */
  readonly listPace: Pace
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: {
    pods: 100,
    streams: 4,
    pace: { rounds: 1, roundMs: 20, inFlightMax: 2 },
    listPace: { rounds: 1, roundMs: 20 },
  },
  full: {
    pods: 10_000,
    streams: 100,
    pace: { rounds: 7, roundMs: 1500 },
    listPace: { rounds: 5, roundMs: 3000 },
  },
}

/** A parameter that we do not know passes a request; the upstream does not know it either, and
 *  ignores it. */
const passing = 'passed=1'

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const { pods, streams, pace, listPace } = sizes[size]
  progress(`an etcd and upstreams with ${pods} pods`)
  const [quick, { url: quickUrl, etcd }] = await startChild<UpstreamReport>('upstream', pods)
  const [apiServer, url] = await startChild<string>('api-server', etcd)
  const quickPort = portOf(quickUrl)
  const [pipe, pipePort] = await startChild<number>('pipe', quickPort)
  const adminPort = await freePort()
  const proxy = await startProxy(etcd, url, `http://127.0.0.1:${adminPort}`)
  const quickProxy = await startProxy(etcd, quickUrl, 'none')
  const load = new Load()
  try {
    const [path, list] = await pathsOf(proxy)
    // Before any list, whose garbage would hide it.
    progress(`${streams} streams that nobody reads`)
    const grownBytes = await grownBy(proxy, adminPort, { path: list, streams })
    const quickUpstream = new ProcessUsage(quick, quickPort)
    const upstream = new ProcessUsage(apiServer, portOf(url))
    const hash = await hashOf(proxy, upstream, [path, list])
    const matches: readonly Contest[] = [
      { name: 'through the proxy', through: usageOf(proxy), upstream, limits: [0.6, 0.7] },
      { name: 'quickest upstream', through: usageOf(quickProxy), upstream: quickUpstream },
      {
        name: 'the same, a pipe',
        through: new ProcessUsage(pipe, pipePort),
        upstream: quickUpstream,
      },
    ]
    const questions: readonly (Question & { readonly name: string })[] = [
      { name: 'get of a pod', paths: [path], headers: {}, inFlight: 16 },
      { name: 'list of all pods', paths: [list], headers: {}, inFlight: 2 },
    ]
    const rows: Row[] = []
    for (const { name: way, through, upstream: asked, limits } of matches) {
      for (const [i, { name, ...question }] of questions.entries()) {
        progress(`${name}, ${way}`)
        const match = { load, version: '1.1' as const, pace: i === 0 ? pace : listPace }
        const ours = { ...question, subject: through }
        const theirs = { ...question, subject: asked }
        const limit = limits?.[i]
        rows.push({ name, way, limit, ...(await compare(ours, theirs, match)) })
      }
    }
    return {
      tables: [tableOf(rows), memoryTable(streams, grownBytes)],
      floors: [...rows.flatMap(floorsOf), memoryFloor(streams, grownBytes)],
      resultHash: hash,
    }
  } finally {
    await load.stop()
    await proxy.stop()
    await quickProxy.stop()
    for (const child of [pipe, apiServer, quick]) await stopChild(child)
  }
}

interface Contest {
  readonly name: string
  readonly through: Subject
  readonly upstream: Subject
  /** Floors of requests a second, and of bytes a second. */
  readonly limits?: readonly [number, number] | undefined
}

function usageOf({ process, port }: Program): ProcessUsage {
  return new ProcessUsage(process, port)
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

function startProxy(etcd: string, url: string, adminListen: string): Promise<Program> {
  return Program.start([
    `--etcd=${etcd}`,
    `--upstream=${url}`,
    '--upstream-ca=test/support/certs/ca.pem',
    // It would ask the upstream where each of the others is stored, while it is measured.
    '--cache-only=pods',
    `--admin-listen=${adminListen}`,
    '--auth=none',
  ])
}

/** A process of this folder, and what it says when it is told what it needs. */
async function startChild<T>(name: string, order: string | number): Promise<[ChildProcess, T]> {
  const child = fork(fileURLToPath(new URL(`${name}.js`, import.meta.url)))
  child.send(order)
  const [report] = (await once(child, 'message')) as [T]
  return [child, report]
}

async function stopChild(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.disconnect()
  await exited
}

/** The paths of one pod, and of all of them. */
async function pathsOf(proxy: Program): Promise<[string, string]> {
  const page = (await proxy.get('/api/v1/pods?limit=1', {})).toString()
  const { items } = JSON.parse(page) as { items: { metadata: Record<string, string> }[] }
  const { namespace, name } = items[0]!.metadata
  return [`/api/v1/namespaces/${namespace}/pods/${name}?${passing}`, `/api/v1/pods?${passing}`]
}

/** The digest of what both answer, who must not differ. */
async function hashOf(
  proxy: Program,
  upstream: ProcessUsage,
  paths: readonly string[],
): Promise<string> {
  const hash = createHash('sha256')
  for (const path of paths) {
    const ours = await proxy.get(path, {})
    const client = await Http1Client.connect(upstream.port)
    const { pieces } = await client.get(path, {}, true)
    client.close()
    if (!ours.equals(Buffer.concat(pieces))) throw new Error(`${path} is not the same both ways`)
    hash.update(ours)
  }
  return hash.digest('hex').slice(0, 16)
}

interface Row extends Comparison {
  readonly name: string
  readonly way: string
  readonly limit: number | undefined
}

function floorsOf({ name, limit, ratio }: Row): Floor[] {
  if (limit === undefined) return []
  return [{ name: `${name}, passed / direct`, value: ratio, bound: 'at least', limit, unit: 'x' }]
}

const megabyte = 1024 * 1024

function tableOf(rows: readonly Row[]): BenchTable {
  const title = 'passed through, and direct'
  const rates = ['passed/s', 'direct/s', 'MB/s passed', 'MB/s direct', 'ratio']
  return {
    title,
    columns: ['', '', ...rates, 'proxy ms each', 'upstream ms each'],
    rows: rows.map(({ name, way, ours, theirs, ratio }) => [
      name,
      way,
      rateText(ours.requestsPerSecond),
      rateText(theirs.requestsPerSecond),
      (ours.bytesPerSecond / megabyte).toFixed(1),
      (theirs.bytesPerSecond / megabyte).toFixed(1),
      ratio.toFixed(2),
      ours.cpuMs.toFixed(3),
      theirs.cpuMs.toFixed(3),
    ]),
  }
}

function rateText(perSecond: number): string {
  return perSecond < 100 ? perSecond.toFixed(1) : perSecond.toFixed(0)
}

function memoryTable(streams: number, grownBytes: number): BenchTable {
  return {
    title: `memory of the proxy while ${streams} lists pass that nobody reads`,
    columns: ['streams', 'grown MB', 'MB each'],
    rows: [
      [streams, (grownBytes / megabyte).toFixed(1), (grownBytes / megabyte / streams).toFixed(2)],
    ],
  }
}

/** The bound of what is on its way: the buffers of two sockets, of their TLS, and of one read. */
const streamMaxMegabytes = 1.5

function memoryFloor(streams: number, grownBytes: number): Floor {
  return {
    name: 'memory of a stream that nobody reads',
    value: Math.max(0.01, grownBytes / megabyte / streams),
    bound: 'at most',
    limit: streamMaxMegabytes,
    unit: 'MB',
  }
}

/** Garbage comes and goes meanwhile. */
const looksMax = 20

/** By how much the proxy's memory grows when clients ask for a list and read nothing but its
 *  beginning. */
async function grownBy(
  proxy: Program,
  adminPort: number,
  { path, streams }: { readonly path: string; readonly streams: number },
): Promise<number> {
  const before = await heldBytes(adminPort)
  const sockets = await Promise.all(
    Array.from({ length: streams }, () => beginning(proxy.port, path)),
  )
  // Until nothing more moves: what is on its way has then filled whatever holds it.
  let last = -1
  for (let look = 0; look < looksMax; look++) {
    const now = await heldBytes(adminPort)
    if (Math.abs(now - last) < megabyte) break
    last = now
    await new Promise(resolve => setTimeout(resolve, 300))
  }
  for (const socket of sockets) socket.destroy()
  return Math.max(0, last - before)
}

/** The bytes of the proxy's heap and its buffers, garbage included: as much as there may be, and
 *  never less than there is. */
async function heldBytes(adminPort: number): Promise<number> {
  const { body } = await ask(adminPort, { path: '/metrics' })
  const valueOf = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body.toString())?.[1] ?? Number.NaN)
  return valueOf('nodejs_external_memory_bytes') + valueOf('nodejs_heap_size_used_bytes')
}

async function beginning(port: number, path: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}
