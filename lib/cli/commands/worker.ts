/** A worker: serves clients from copies of what the main thread mirrors. The main thread
 *  starts this file. */

import { CacheError, type HealthCheck, type Logger, repeat } from '@watchglass/base'
import type { EtcdPlan } from './plan/etcd-plan.ts'
import { KubeService } from '../compose/kube-service.ts'
import type { MirroredEtcds, ServiceOptions } from '../compose/service-options.ts'
import {
  copiesOf,
  WorkerThread,
  ownSegmentsMaxBytes,
  type WorkerProgram,
} from '@watchglass/workers'
import { OptionValues } from '../options/option-values.ts'
import { systemClock } from '@watchglass/cache'
import type { FaultRulesOptions } from '@watchglass/simulator'
import type { WorkerOptions } from './worker-options.ts'
import { type ServePlan, startPlan } from './plan/serve-plan.ts'

const figuresEveryMs = 1_000
/** The rounds between two looks that are for people: such a look goes through every watch. */
const shownEach = 5

async function run(thread: WorkerThread): Promise<void> {
  const { options } = thread.data.program as WorkerProgram
  const values = new OptionValues(new Map((options as WorkerOptions).values))
  const startup = new StartupLogger(thread.logger)
  const plan = await startPlan({ values, logger: startup.logger })
  startup.isStarting = false
  const checks = new RemoteChecks()
  let roomBytes = Infinity
  let drops = 0
  const fits = (bytes: number): boolean => bytes <= roomBytes
  const service = await KubeService.start(optionsOf(thread, plan, { checks: checks.all, fits }))
  thread.onOrder(order => {
    switch (order.type) {
      case 'give-metrics':
        void service.ownMetrics().then(text => thread.tell({ type: 'metrics', id: order.id, text }))
        return
      case 'health':
        checks.take(order.problems)
        return
      case 'drop':
        drops++
        service.kept[order.figure === 'segmentBytes' ? 'segments' : 'indexes'].dropTo(order.bytes)
        return
      case 'trim-history':
        service.trimHistory(order.keyspace, order.bytes)
        return
      case 'room-for':
        roomBytes = order.bytes
        return
      case 'pass-through':
        service.readSwitch?.set(order.isOn)
        return
      case 'named':
        service.named(order.key, order.user)
        return
      case 'faults':
        void service.faults?.take(order.faults)
        return
      case 'leave':
        service.leave()
        return
      case 'stop':
        void stop(thread, service, () => plan.stop())
    }
  })
  thread.tell({ type: 'listening', port: service.port })
  void service.ready.then(() => thread.tell({ type: 'ready' }))
  tellFigures(thread, service, () => drops)
  startup.logger.debug('a worker serves', { number: thread.data.number })
}

/** The main thread's plan, for a thread that has copies of the contents. */
function optionsOf(
  thread: WorkerThread,
  { etcd, prefix, options }: ServePlan,
  forCopies: Parameters<typeof copiesOf>[1],
): ServiceOptions {
  const { count, port, program } = thread.data
  const { faults, segments } = program as WorkerProgram
  const { listening: asked, attached = {} } = options
  const isOfEtcd = attached.source === undefined
  return {
    ...options,
    etcd: {
      client: isOfEtcd ? thread.clients.client(0) : undefined,
      others: etcd.others.size === 0 ? undefined : othersOf(thread, etcd),
      prefix,
    },
    listening: { ...asked, listen: { ...asked.listen, port, isShared: true } },
    // The main thread is the one that operators see, and it waits before it stops its threads.
    operating: undefined,
    memory: { segmentsMaxBytes: ownSegmentsMaxBytes(count, segments !== undefined) },
    attached: {
      upstream: attached.upstream,
      source: attached.source,
      // Controllers, nodes that are made up, and the first namespaces are the main thread's.
      writes: attached.writes && { access: attached.writes.access },
      faults: attached.faults && { ...attached.faults, ...faultsOf(faults) },
      copies: copiesOf(thread, forCopies),
    },
  }
}

/** The other etcds, in the order of the main thread. */
function othersOf(thread: WorkerThread, { others }: EtcdPlan): MirroredEtcds['others'] {
  return [...others.values()].map((prefixes, i) => ({
    client: thread.clients.client(i + 1),
    prefixes,
  }))
}

/** The rules of the main thread, which may have replaced those of the command line. */
function faultsOf(shared: WorkerProgram['faults']): Pick<FaultRulesOptions, 'rules' | 'memory'> {
  return { rules: shared?.texts ?? [], memory: shared?.memory }
}

/** `drops`: how many orders to drop something were followed. */
function tellFigures(thread: WorkerThread, service: KubeService, drops: () => number): void {
  let told = 0
  repeat(systemClock, figuresEveryMs, () => {
    const { openWatches, kept } = service
    const { segments, indexes } = kept
    const figures = { segmentBytes: segments.bytes, indexBytes: indexes.bytes, openWatches }
    const page = told++ % shownEach === 0 ? { page: service.pageFigures } : {}
    thread.tell({ type: 'figures', figures: { ...figures, ...page }, drops: drops() })
  })
}

async function stop(
  thread: WorkerThread,
  service: KubeService,
  stopPlan: () => Promise<void>,
): Promise<void> {
  await service.stop()
  await stopPlan()
  thread.tell({ type: 'stopped' })
  // Only this thread ends. The message is sent before.
  setImmediate(() => process.exit(0))
}

/** Checks of the main thread, as it last told. */
class RemoteChecks {
  readonly all: HealthCheck[] = []
  #problems: Readonly<Record<string, string>> = {}

  take(problems: Readonly<Record<string, string>>): void {
    this.#problems = problems
    for (const name of Object.keys(problems)) {
      if (this.all.some(check => check.name === name)) continue
      this.all.push({ name, problem: () => this.#problems[name] || undefined })
    }
  }
}

/** The logger of a worker at its start: the main thread has said already what the options lead
 *  to. */
class StartupLogger {
  isStarting = true
  readonly logger: Logger

  constructor(logger: Logger) {
    this.logger = {
      debug: (message, fields) => logger.debug(message, fields),
      info: (message, fields) => {
        if (!this.isStarting) logger.info(message, fields)
      },
      warn: (message, fields) => {
        if (!this.isStarting) logger.warn(message, fields)
      },
      error: (message, fields) => logger.error(message, fields),
    }
  }
}

const thread = WorkerThread.here()
if (thread === undefined) throw new Error('this is a thread of watchglass serve')
run(thread).catch((error: unknown) => {
  const { code, message } = CacheError.from(error, 'closed')
  thread.tell({ type: 'failed', failure: message, isInvalid: code === 'invalid_request' })
  setImmediate(() => process.exit(1))
})
