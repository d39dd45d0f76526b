/** Everything at once for a long time: three programs over an etcd of three members, of which one
 *  is killed each minute; certificates that change; writes, reads and watchers that come and go. No
 *  read may be wrong, and after a while neither memory nor descriptors may grow. It takes about
 *  half a core. */

import { mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { type ChildProcess, spawn } from 'node:child_process'
import { createRandom } from '../../../../lib/base/random.ts'
import { GrpcClient } from '../../../../lib/etcd/grpc/client.ts'
import { type EtcdCluster, type Teardown, startEtcd } from '../../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../../support/etcd/real-etcd.ts'
import { Certificates, authorityFile } from './certificates.ts'
import { Client } from './client.ts'
import { visitDoor } from './door.ts'
import type { Trend } from './flatness.ts'
import { Outcomes } from './outcomes.ts'
import { type Program, type Programs, flags, startPrograms } from './programs.ts'
import { Reads } from './reads.ts'
import { type MemoryUses, ProgramSamples } from './samples.ts'
import { Truth } from './truth.ts'
import { Watches } from './watches.ts'
import { Writes } from './writes.ts'

export interface LongSoakOptions {
  readonly ms: number
  /** Time at the start that does not count as growth: history is kept for ten minutes, so memory
   *  grows for that long. */
  readonly warmUpMs: number
  readonly killEveryMs: number
  readonly certificatesEveryMs: number
  readonly sampleEveryMs: number
  readonly seed: number
  /** Folder of logs and samples. */
  readonly folder: string
  readonly progress: (message: string) => void
}

export interface LongSoakReport {
  readonly counts: ReadonlyMap<string, number>
  readonly kills: number
  readonly certificateChanges: number
  /** The least number of certificates that clients of a program have seen. */
  readonly certificatesSeen: number
  readonly figures: readonly ProgramFigures[]
  /** Wrong reads, errors that were logged, programs that ended. */
  readonly faults: readonly string[]
  /** Memory and descriptors that grew, descriptors that stayed. */
  readonly growth: readonly string[]
}

export interface ProgramFigures {
  readonly name: string
  readonly trends: Readonly<Record<string, Trend | undefined>>
  /** Descriptors without clients, before the first came and after the last has left. */
  readonly atRest: readonly [before: number, after: number]
  /** After the time to warm up, and at the end. */
  readonly uses: readonly MemoryUses[]
  readonly warnings: number
}

/** V8 compiles what is called often, and for half an hour there is something more: with more reads
 *  at first it is done sooner. */
const perSecond = { reads: 6, warmingReads: 12, writes: 3, generated: 3 }
/** For how much of the time to warm up there are more reads. */
const shareWarming = 0.7
const watchers = 24
/** The share of the time from one kill to the next in which the member is away. */
const shareDown = 0.2
const cluster = 'pods=250,nodes=10,deployments=20,namespaces=5,configmaps=50'

export async function longSoak(scope: Teardown, options: LongSoakOptions): Promise<LongSoakReport> {
  const { ms, warmUpMs, sampleEveryMs, folder, seed, progress } = options
  mkdirSync(folder, { recursive: true })
  const random = createRandom(seed)
  const certificates = new Certificates(scope)
  const found = await findEtcd('3.5')
  if (found.skip !== false) throw new Error(found.skip)
  const [cert, key] = [`test/support/certs/server.pem`, `test/support/certs/server.key`]
  const etcd = await startEtcd(scope, found, {
    members: 3,
    tls: { ca: authorityFile, cert, key, clientAuth: true },
  })
  const generator = await startGenerator(scope, etcd)
  const truthClient = new GrpcClient({
    endpoints: etcd.endpoints,
    tls: { ca: readFileSync(authorityFile), cert: readFileSync(cert), key: readFileSync(key) },
  })
  const truth = new Truth(truthClient)
  const programs = await startPrograms(scope, {
    endpoints: etcd.endpoints,
    certificates,
    folder,
    sampleEveryMs,
  })
  await truth.start()
  const tested = [programs.writable, programs.proxy, programs.faulty]
  const samples = tested.map(program => new ProgramSamples(program))
  const before = samples.map(one => one.descriptors())
  const begunMs = Date.now()
  const outcomes = new Outcomes()
  const clients = tested.map(program => new Client(program))
  const load = startLoad({ programs, clients, truth, random, outcomes, warmUpMs })
  const trouble = startTrouble({ etcd, certificates, options })
  const sampling = setInterval(() => {
    for (const one of samples) one.take()
  }, sampleEveryMs)
  const saying = setInterval(() => {
    progress(`revision ${truth.latest}, ${outcomes.wrong.length} wrong`)
  }, 60_000)
  await pause(warmUpMs)
  const usesBefore = await Promise.all(samples.map(one => one.uses()))
  await pause(ms - warmUpMs)
  const usesAfter = await Promise.all(samples.map(one => one.uses()))
  clearInterval(saying)
  await trouble.stop()
  await load.stop()
  for (const client of clients) client.close()
  clearInterval(sampling)
  // Connections end on their own.
  await pause(Math.min(15_000, ms))
  const fromMs = begunMs + warmUpMs
  const figures = tested.map((program, i) => ({
    name: program.name,
    trends: samples[i]!.trends(fromMs),
    atRest: [before[i]!, samples[i]!.descriptors()] as const,
    uses: [usesBefore[i]!, usesAfter[i]!],
    warnings: readFileSync(program.logFile, 'utf8').split('"level":"warn"').length - 1,
  }))
  truth.stop()
  await truthClient.close()
  generator.kill()
  return {
    counts: outcomes.counts,
    kills: trouble.kills,
    certificateChanges: certificates.changes,
    certificatesSeen: Math.min(...clients.map(client => client.certificates.size)),
    figures,
    faults: [...outcomes.wrong, ...tested.flatMap(faultsOf)],
    growth: figures.flatMap(growthOf),
  }
}

/** Objects that go on changing, written to etcd past the programs. Resolves once they are there. */
async function startGenerator(scope: Teardown, { endpoints }: EtcdCluster): Promise<ChildProcess> {
  const certs = 'test/support/certs'
  const options = flags({
    churn: `${perSecond.generated}/s`,
    etcd: endpoints.join(','),
    'etcd-cacert': authorityFile,
    'etcd-cert': `${certs}/client.pem`,
    'etcd-key': `${certs}/client.key`,
  })
  const child = spawn(process.execPath, ['.', 'generate', cluster, ...options], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  scope.teardown(async () => void child.kill())
  await new Promise<void>(resolve => {
    child.stderr.on('data', (text: Buffer) => {
      process.stderr.write(text)
      if (text.includes('generated')) resolve()
    })
  })
  return child
}

interface LoadOptions {
  readonly programs: Programs
  readonly clients: readonly Client[]
  readonly truth: Truth
  readonly random: ReturnType<typeof createRandom>
  readonly outcomes: Outcomes
  readonly warmUpMs: number
}

interface Running {
  stop(): Promise<void>
}

function startLoad(given: LoadOptions): Running {
  const { programs, clients, truth, random, outcomes, warmUpMs } = given
  const options = { clients, truth, random, outcomes }
  const reads = new Reads(options)
  const writing = clients.filter(({ program }) => program.name !== 'faulty')
  const writes = new Writes({ ...options, clients: writing })
  const watches = new Watches({ ...options, count: watchers })
  const door = { ...options, address: programs.door }
  const warming = paced(perSecond.warmingReads, 24, () => reads.one())
  const warm = setTimeout(() => void warming.stop(), warmUpMs * shareWarming)
  const running = [
    paced(perSecond.reads, 12, () => reads.one()),
    paced(perSecond.writes, 6, () => writes.one()),
    paced(1, 1, () => visitDoor(door)),
    watches,
  ]
  return {
    async stop() {
      clearTimeout(warm)
      await Promise.all([warming, ...running].map(part => part.stop()))
    },
  }
}

/** Does a task at a steady rate, no more than so many at a time. */
function paced(rate: number, atOnce: number, task: () => Promise<void>): Running {
  const underWay = new Set<Promise<void>>()
  const timer = setInterval(() => {
    if (underWay.size >= atOnce) return
    const one = task().finally(() => underWay.delete(one))
    underWay.add(one)
  }, 1000 / rate)
  return {
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
    },
  }
}

interface TroubleOptions {
  readonly etcd: EtcdCluster
  readonly certificates: Certificates
  readonly options: LongSoakOptions
}

/** Kills a member of etcd now and then and starts it again; changes the certificates. */
function startTrouble({ etcd, certificates, options }: TroubleOptions): Running & {
  readonly kills: number
} {
  const { killEveryMs, certificatesEveryMs, progress } = options
  const downMs = killEveryMs * shareDown
  const stopping = new AbortController()
  const { signal } = stopping
  let kills = 0
  const killing = async (): Promise<void> => {
    // Not when the faulty program compacts, on the full minute: a member that comes back must find
    // its watchers' revisions.
    await pause(killEveryMs / 2, undefined, { signal })
    for (;;) {
      const member = etcd.members[kills++ % etcd.members.length]!
      progress(`killing ${member.name}`)
      await member.kill()
      await pause(downMs)
      await member.restart()
      await pause(killEveryMs - downMs, undefined, { signal })
    }
  }
  const changes = setInterval(() => certificates.change(), certificatesEveryMs)
  const killed = killing().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  return {
    get kills() {
      return kills
    },
    async stop() {
      clearInterval(changes)
      stopping.abort()
      await killed
    },
  }
}

function faultsOf({ name, child, logFile }: Program): string[] {
  const log = readFileSync(logFile, 'utf8')
  // The budget is enough for everything that is mirrored.
  const isFault = (line: string): boolean =>
    line.includes('"level":"error"') || line.includes('no longer mirrored')
  const errors = log.split('\n').filter(isFault)
  return [
    ...(child.exitCode === null ? [] : [`${name} ended with ${child.exitCode}: see ${logFile}`]),
    ...errors.slice(0, 5).map(line => `${name} logged ${line}`),
  ]
}

/** Descriptors that a program may have more at rest than before: connections to members that were
 *  down then. */
const moreAtRest = 10

function growthOf({ name, trends, atRest: [before, after] }: ProgramFigures): string[] {
  const growing: string[] = []
  for (const [of, trend] of Object.entries(trends)) {
    if (trend === undefined) {
      growing.push(`${name}: ${of} has too few samples to judge: a longer soak has more`)
    } else if (!trend.isFlat) {
      const [growth, noise] = [trend.growth.toFixed(1), trend.noise.toFixed(1)]
      growing.push(`${name}: ${of} grew by ${growth}, noise ${noise}`)
    }
  }
  if (after > before + moreAtRest) {
    growing.push(`${name}: ${after} descriptors at rest, ${before} before`)
  }
  return growing
}
