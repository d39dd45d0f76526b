/** Watches over real sockets with TLS, compared with a minimal server on the same runtime that
 *  writes the same frames to the same number of clients: events a second, their delay, bytes a
 *  second of streaming lists, and the memory of an idle watcher. */

import { createHash } from 'node:crypto'
import { type Bench, type BenchOptions, type BenchResult, type Floor, median } from '../bench.ts'
import { measureBurst } from './burst.ts'
import type { CountReport, UsageReport } from './orders.ts'
import { namespaceOf, nodeName } from './pods.ts'
import { type HttpVersion, sleep, Stage, type Subject, type WatchShape } from './stage.ts'

export const watchBench: Bench = {
  name: 'watch',
  summary: 'watches over TLS, against a bare server that fans out the same frames',
  run: measure,
}

interface Scale {
  readonly pods: number
  readonly ms: number
  /** For so long lags are looked at in each round. A full collection comes every few seconds, and a
   *  p99 over one second says only whether one came in it. */
  readonly lagMs: number
  /** For so long changes come before anything is looked at: thousands of handshakes leave garbage,
   *  and code that is not compiled yet. */
  readonly warmMs: number
  readonly settleMs: number
  /** For how long others are looked at while lists stream. */
  readonly bystandMs: number
  readonly fanRounds: number
  readonly listRounds: number
  /** No more are asked for: the etcd of the bench shares a core with those who watch. More than
   *  ours carries over HTTP/2. */
  readonly changesMaxPerSecond: number
  readonly fans: readonly Fan[]
  readonly selective: { readonly few: number; readonly many: number; readonly perSecond: number }
  readonly streams: number
  readonly idle: number
}

/** Watchers of everything. */
interface Fan {
  readonly watchers: number
  readonly perSecond: number
  readonly version: WatchShape
  readonly floor: number
  /** At half of what the ceiling carries. Thousands of sockets, each with a frame of 4 KB, take
   *  longer than that to write to. */
  readonly lagMaxMs?: number
}

const full: Scale = {
  pods: 5_000,
  ms: 1_000,
  lagMs: 3_000,
  warmMs: 2_000,
  settleMs: 200,
  bystandMs: 4_000,
  fanRounds: 3,
  listRounds: 3,
  changesMaxPerSecond: 4_000,
  fans: [
    { watchers: 100, perSecond: 100, version: '1.1', floor: 0.75, lagMaxMs: 50 },
    { watchers: 100, perSecond: 100, version: '2', floor: 0.75, lagMaxMs: 50 },
    { watchers: 100, perSecond: 100, version: 'WebSocket', floor: 0.75, lagMaxMs: 50 },
    { watchers: 1_000, perSecond: 60, version: '1.1', floor: 0.7 },
    { watchers: 5_000, perSecond: 10, version: '1.1', floor: 0.7 },
  ],
  selective: { few: 250, many: 5_000, perSecond: 1_000 },
  streams: 300,
  idle: 1_000,
}

const small: Scale = {
  pods: 100,
  ms: 100,
  lagMs: 100,
  warmMs: 50,
  settleMs: 50,
  bystandMs: 150,
  fanRounds: 1,
  listRounds: 1,
  changesMaxPerSecond: 200,
  fans: [
    { watchers: 10, perSecond: 50, version: '1.1', floor: 0.75, lagMaxMs: 50 },
    { watchers: 10, perSecond: 50, version: '2', floor: 0.75, lagMaxMs: 50 },
    { watchers: 10, perSecond: 50, version: 'WebSocket', floor: 0.75, lagMaxMs: 50 },
  ],
  selective: { few: 10, many: 100, perSecond: 100 },
  streams: 10,
  idle: 50,
}

const fromNow = '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600'
const everything = `/api/v1/pods?watch=1${fromNow}`
const streaming = `/api/v1/namespaces/${namespaceOf(0)}/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`

/** The parts that can be named: all, if none is. */
async function measure(options: BenchOptions): Promise<BenchResult> {
  const { only = [] } = options
  const hasBurst = only.length === 0 || only.some(word => 'burst'.includes(word))
  const isBurstOnly = hasBurst && only.length > 0
  const burst = hasBurst ? await measureBurst(options) : undefined
  if (burst !== undefined && isBurstOnly) {
    const hash = createHash('sha256').update(JSON.stringify(burst.table.columns))
    return {
      tables: [burst.table],
      floors: burst.floors,
      resultHash: hash.digest('hex').slice(0, 16),
    }
  }
  const watches = await measureWatches(options)
  if (burst === undefined) return watches
  return {
    ...watches,
    tables: [...watches.tables, burst.table],
    floors: [...watches.floors, ...burst.floors],
  }
}

async function measureWatches({ size, progress }: BenchOptions): Promise<BenchResult> {
  const scale = size === 'full' ? full : small
  const stage = await Stage.start(scale.pods, scale.settleMs)
  const hash = createHash('sha256')
  const floors: Floor[] = []
  try {
    const copied = await stage.copy(`${streaming}&timeoutSeconds=1`)
    hash.update(`${copied.bytes > 0 && copied.frameBytes > 3_000}`)
    const fans: Row[] = []
    for (const fan of scale.fans) {
      progress(`${fan.watchers} watchers over ${nameOf(fan.version)}`)
      fans.push(await measureFan(stage, { fan, scale, floors }))
    }
    progress(`${scale.selective.many} watchers of a node each`)
    const selective = await measureSelective(stage, scale, floors)
    progress(`${scale.streams} streaming lists`)
    const lists = await measureLists(stage, scale, { bytes: copied.bytes, floors })
    progress('memory')
    const memory = [
      await measureMemory(stage, scale, '1.1'),
      await measureMemory(stage, scale, '2'),
    ]
    return {
      tables: [
        {
          title: `Watchers of everything, frames of ${copied.frameBytes} bytes`,
          ...fanTable,
          rows: fans,
        },
        { title: 'Watchers of one node each', ...selectiveTable, rows: selective },
        { title: 'Streaming lists at once', ...listTable, rows: [lists] },
        { title: `Memory of ${scale.idle} watchers that wait, each`, ...memoryTable, rows: memory },
      ],
      floors,
      resultHash: hash.digest('hex').slice(0, 16),
    }
  } finally {
    await stage.stop()
  }
}

type Row = (string | number)[]

const fanTable = {
  columns: [
    'watchers',
    'events/s',
    'ceiling events/s',
    'ratio',
    'by CPU',
    'changes/s',
    'lag p50 ms',
    'lag p99 ms',
    'CPU µs an event',
    "ceiling's",
    'changes/s',
    'lag p50 ms',
    'lag p99 ms',
    'ceiling p99 ms',
  ],
}

async function measureFan(
  stage: Stage,
  { fan, scale, floors }: { fan: Fan; scale: Scale; floors: Floor[] },
): Promise<Row> {
  const { ours, ceiling } = stage
  const { watchers, version, perSecond, floor, lagMaxMs } = fan
  const { pods, lagMs } = scale
  const name = `${watchers} of everything, ${nameOf(version)}`
  await stage.open(
    ours,
    version,
    Array.from({ length: watchers }, () => everything),
  )
  await stage.open(
    ceiling,
    // It writes the same frames, and knows of no WebSockets.
    version === 'WebSocket' ? '1.1' : version,
    Array.from({ length: watchers }, () => '/'),
  )
  const rounds: { mine: number; theirs: number; myCost: number; theirCost: number }[] = []
  for (let round = 0; round <= scale.fanRounds; round++) {
    const ms = round === 0 ? scale.warmMs : scale.ms
    const [flood, theirSeconds] = await stage.costOf(ceiling, () => stage.flood(ms))
    const theirs = flood.events / flood.seconds
    const more = Math.min((1.3 * theirs) / watchers, scale.changesMaxPerSecond)
    const order = { perSecond: more, ms, toldTo: 'all' as const, pods }
    const [got, mySeconds] = await stage.costOf(ours, () => stage.change(ours, order))
    const mine = got.events / got.seconds
    const [myCost, theirCost] = [mySeconds / got.changes, theirSeconds / flood.changes]
    if (round > 0) rounds.push({ mine, theirs, myCost, theirCost })
  }
  const theirs = median(rounds.map(round => round.theirs))
  const ratio = median(rounds.map(round => round.mine / round.theirs))
  const cpuRatio = median(rounds.map(round => round.theirCost / round.myCost))
  const halfRate = Math.min(theirs / 2 / watchers, scale.changesMaxPerSecond)
  const halfMs = lagMaxMs === undefined ? scale.ms : lagMs
  const half = { perSecond: halfRate, ms: halfMs, toldTo: 'all' as const, pods }
  const asked = await stage.change(ours, { ...half, perSecond })
  await stage.quiet(ours)
  const askedOfTheirs = await stage.change(ceiling, { ...half, perSecond })
  await stage.quiet(ceiling)
  const perEvent = ({ cpuSeconds, changes }: { cpuSeconds: number; changes: number }): number =>
    (cpuSeconds * 1e6) / (changes * watchers)
  const loaded: CountReport[] = []
  // Medians of rounds, as everywhere: whatever else the machine does in one of them does not
  // decide.
  for (let round = 0; round < (lagMaxMs === undefined ? 1 : scale.fanRounds); round++) {
    loaded.push(await stage.change(ours, half))
    await stage.quiet(ours)
  }
  const lagP50Ms = median(loaded.map(report => report.lagP50Ms))
  const lagP99Ms = median(loaded.map(report => report.lagP99Ms))
  const theirLag = await stage.change(ceiling, half)
  await stage.close(ours)
  await stage.close(ceiling)
  await sleep(scale.settleMs)
  floors.push({ name, value: ratio, bound: 'at least', limit: floor, unit: 'of the ceiling' })
  if (lagMaxMs !== undefined) {
    floors.push({
      name: `${name}, lag p99`,
      value: lagP99Ms,
      bound: 'at most',
      limit: lagMaxMs,
      unit: 'ms',
    })
    floors.push(...askedFloors(`${name}, ${perSecond} changes/s`, perEvent(asked), asked))
  }
  return [
    `${watchers}, ${nameOf(version)}`,
    Math.round(median(rounds.map(({ mine }) => mine))),
    Math.round(theirs),
    ratio.toFixed(2),
    cpuRatio.toFixed(2),
    perSecond,
    asked.lagP50Ms,
    asked.lagP99Ms,
    perEvent(asked).toFixed(1),
    perEvent(askedOfTheirs).toFixed(1),
    Math.round(half.perSecond),
    lagP50Ms,
    lagP99Ms,
    theirLag.lagP99Ms,
  ]
}

function nameOf(version: WatchShape): string {
  return version === 'WebSocket' ? version : `HTTP/${version}`
}

/** At a rate that clusters have, an event may cost so much, and be so late. */
function askedFloors(name: string, microseconds: number, { lagP99Ms }: CountReport): Floor[] {
  return [
    { name: `${name}: processor`, value: microseconds, bound: 'at most', limit: 10, unit: 'µs' },
    { name: `${name}: lag p99`, value: lagP99Ms, bound: 'at most', limit: 20, unit: 'ms' },
  ]
}

const selectiveTable = {
  columns: ['watchers', 'changes/s', 'events/s', 'lag p50 ms', 'lag p99 ms', 'CPU µs a change'],
}

async function measureSelective(stage: Stage, scale: Scale, floors: Floor[]): Promise<Row[]> {
  const { few, many } = scale.selective
  const ours = [
    await measureTurns(stage, stage.ours, { scale, watchers: few }),
    await measureTurns(stage, stage.ours, { scale, watchers: many }),
  ] as const
  const ceiling = await measureTurns(stage, stage.ceiling, { scale, watchers: many })
  floors.push(
    {
      name: `${many} of a node each, lag p99`,
      value: ours[1].lagP99Ms,
      bound: 'at most',
      limit: 50,
      unit: 'ms',
    },
    {
      name: `CPU a change, ${many} watchers against ${few}`,
      value: ours[1].costMicroseconds / ours[0].costMicroseconds,
      bound: 'at most',
      limit: 1.5,
      unit: 'times',
    },
  )
  return [...ours, ceiling].map(({ row }) => row)
}

interface Turns {
  readonly lagP99Ms: number
  readonly costMicroseconds: number
  readonly row: Row
}

/** Each change is told to one watcher, in turn. */
async function measureTurns(
  stage: Stage,
  subject: Subject,
  { scale, watchers }: { readonly scale: Scale; readonly watchers: number },
): Promise<Turns> {
  const { perSecond } = scale.selective
  const isOurs = subject === stage.ours
  const paths = Array.from({ length: watchers }, (_, i) =>
    isOurs ? `${everything}&fieldSelector=spec.nodeName%3D${nodeName(i)}` : '/',
  )
  await stage.open(subject, '1.1', paths)
  const order = { perSecond, toldTo: 'one' as const, pods: watchers }
  await stage.change(subject, { ...order, ms: scale.warmMs })
  const got = await stage.change(subject, { ...order, ms: scale.lagMs })
  await stage.close(subject)
  await sleep(scale.settleMs)
  const costMicroseconds = (got.cpuSeconds * 1e6) / got.changes
  return {
    lagP99Ms: got.lagP99Ms,
    costMicroseconds,
    row: [
      isOurs ? `${watchers}` : `${watchers}, ceiling`,
      perSecond,
      Math.round(got.events / got.seconds),
      got.lagP50Ms,
      got.lagP99Ms,
      Math.round(costMicroseconds),
    ],
  }
}

const listTable = {
  columns: ['streams', 'bytes', 'MB/s', 'ceiling MB/s', 'ratio', 'lag p99 ms of others'],
}

async function measureLists(
  stage: Stage,
  { streams, listRounds, bystandMs }: Scale,
  { bytes, floors }: { bytes: number; floors: Floor[] },
): Promise<Row> {
  const { ours, ceiling } = stage
  const order = { streams, bytes }
  const rates: { mine: number; theirs: number }[] = []
  // The first round is to warm up.
  for (let round = 0; round <= listRounds; round++) {
    const theirs = await stage.download(ceiling, '/copy', order)
    const mine = await stage.download(ours, streaming, order)
    if (round > 0) {
      rates.push({ mine: mine.bytes / mine.seconds, theirs: theirs.bytes / theirs.seconds })
    }
  }
  const ratio = median(rates.map(({ mine, theirs }) => mine / theirs))
  const bystanders = await stage.bystand(everything, bystandMs, () =>
    stage.download(ours, streaming, order),
  )
  floors.push({
    name: `${streams} streaming lists`,
    value: ratio,
    bound: 'at least',
    limit: 0.7,
    unit: 'of the ceiling',
  })
  return [
    streams,
    bytes,
    Math.round(median(rates.map(({ mine }) => mine)) / 1e6),
    Math.round(median(rates.map(({ theirs }) => theirs)) / 1e6),
    ratio.toFixed(2),
    bystanders.lagP99Ms,
  ]
}

const memoryTable = {
  columns: [
    'over',
    'heap bytes',
    'ceiling heap bytes',
    'beyond the socket',
    'RSS bytes',
    'ceiling RSS bytes',
  ],
}

async function measureMemory(stage: Stage, scale: Scale, version: HttpVersion): Promise<Row> {
  const { idle } = scale
  const figures: number[][] = []
  for (const subject of [stage.ours, stage.ceiling]) {
    const before = await atRest(stage, subject)
    const path = subject.name === 'ours' ? everything : '/'
    await stage.open(
      subject,
      version,
      Array.from({ length: idle }, () => path),
    )
    const after = await atRest(stage, subject)
    await stage.close(subject)
    await sleep(scale.settleMs)
    figures.push([
      Math.round((after.heapBytes - before.heapBytes) / idle),
      Math.round((after.rssBytes - before.rssBytes) / idle),
    ])
  }
  const [[heap = 0, rss = 0] = [], [ceilingHeap = 0, ceilingRss = 0] = []] = figures
  return [`HTTP/${version}`, heap, ceilingHeap, heap - ceilingHeap, rss, ceilingRss]
}

/** Collections are so far apart, and are over when one finds less than this. */
const restMs = 200
const restBytes = 100_000
const collectionsMax = 20

/** The memory of a subject once collections find no more that can go: what thousands of connections
 *  have left goes in several turns of its loop. */
async function atRest(stage: Stage, subject: Subject): Promise<UsageReport> {
  let report = await stage.usage(subject, true)
  for (let i = 0; i < collectionsMax; i++) {
    await sleep(restMs)
    const next = await stage.usage(subject, true)
    if (next.heapBytes > report.heapBytes - restBytes) return next
    report = next
  }
  return report
}
