/** `watchglass generate`: writes a generated cluster into an etcd, and goes on changing it if asked to. */

import { sleep } from '../base/clock.ts'
import { CacheError } from '../base/errors.ts'
import { type Key, singleKey } from '../base/keys.ts'
import { createRandom } from '../base/random.ts'
import { etcdConnection } from '../config/etcd.ts'
import type { OptionValues } from '../config/option-values.ts'
import type { Client, Operation } from '../etcd/client.ts'
import { GrpcClient } from '../etcd/grpc/client.ts'
import { parseRate, startChurn } from '../cluster/generate/churn.ts'
import { Cluster, type GeneratedChange } from '../cluster/generate/cluster.ts'
import { parsePlan } from '../cluster/generate/plan.ts'
import { createProgressLine, progressBar } from '../ops/progress.ts'
import { systemClock } from '../ops/system.ts'
import type { CommandContext } from './context.ts'

export async function generate(context: CommandContext): Promise<number> {
  const { values, operands } = context
  const [plan, ...rest] = operands
  if (plan === undefined || rest.length > 0) {
    throw new CacheError(
      'invalid_request',
      'say what to generate, such as pods=1000; try "watchglass generate --help"',
    )
  }
  const cluster = clusterOf(values, plan)
  const rate = rateOf(values)
  const client = new GrpcClient(etcdConnection(values))
  try {
    await fill(client, cluster, context)
    if (rate !== undefined) await churn(client, cluster, rate, context)
  } finally {
    await client.close()
  }
  return 0
}

/** The cluster that the options describe. */
export function clusterOf(values: OptionValues, plan: string): Cluster {
  return new Cluster({
    plan: parsePlan(plan),
    random: createRandom(seedOf(values)),
    nowMs: systemClock.wallMs(),
    prefix: prefixOf(values),
  })
}

/** Changes a second, if there are to be any. */
export function rateOf(values: OptionValues): number | undefined {
  const text = values.text('churn')
  return text === undefined ? undefined : parseRate(text)
}

/** The etcd prefix of all Kubernetes objects, without a slash at its end. */
export function prefixOf(values: OptionValues): string {
  const prefix = values.text('prefix') ?? ''
  if (!/^\/[^/]+(?:\/[^/]+)*$/.test(prefix)) {
    throw new CacheError(
      'invalid_request',
      `--prefix "${prefix}" must begin with a slash and not end with one, such as /registry`,
    )
  }
  return prefix
}

export function seedOf(values: OptionValues): number {
  const text = values.text('seed') ?? ''
  if (!/^\d{1,10}$/.test(text) || Number(text) >= 2 ** 32) {
    throw new CacheError(
      'invalid_request',
      `--seed "${text}" is not a whole number from 0 to ${2 ** 32 - 1}`,
    )
  }
  return Number(text)
}

/** Transactions in flight: enough to keep one etcd busy, not enough to starve its other clients. */
const writesInFlight = 16
/** Far below etcd's 128 operations and 1.5 MiB for one request. */
const writeMaxOperations = 64
const writeMaxBytes = 512 * 1024

/** Writes every object of the cluster. */
export async function fill(
  client: Client,
  cluster: Cluster,
  { logger, signal }: CommandContext,
): Promise<void> {
  const startMs = systemClock.monotonicMs()
  const progress = createProgressLine(process.stderr, () => systemClock.monotonicMs())
  let objects = 0
  const total = cluster.size
  const writing = new Set<Promise<void>>()
  for (const changes of batched(cluster.objects())) {
    if (signal.aborted) throw new CacheError('closed', `stopped after ${objects} objects`)
    const write = writeChanges(client, changes).finally(() => writing.delete(write))
    writing.add(write)
    if (writing.size >= writesInFlight) await Promise.race(writing)
    objects += changes.length
    progress.show(
      `generating ${progressBar(objects / total)} ${objects.toLocaleString('en-US')} objects`,
    )
  }
  await Promise.all(writing)
  progress.clear()
  const seconds = (systemClock.monotonicMs() - startMs) / 1000
  logger.info('generated', { objects, seconds: Math.round(seconds * 10) / 10 })
}

/** Changes the cluster at a rate until the program is asked to stop. */
async function churn(
  client: Client,
  cluster: Cluster,
  rate: number,
  { logger, signal }: CommandContext,
): Promise<void> {
  logger.info('changing objects until stopped', { changesPerSecond: rate })
  const stop = startChurnOf({ client, cluster, rate, logger })
  await sleep(systemClock, 2 ** 31 - 1, signal)
  stop()
}

export interface ChurnOf {
  readonly client: Client
  readonly cluster: Cluster
  readonly rate: number
  readonly logger: CommandContext['logger']
}

/** Starts churn that is written through `client`; the answer stops it. */
export function startChurnOf({ client, cluster, rate, logger }: ChurnOf): () => void {
  return startChurn({
    cluster,
    changesPerSecond: rate,
    clock: systemClock,
    write: changes => writeChanges(client, changes),
    onFailure: ({ code, message }) =>
      logger.warn('a change was not written', { code, reason: message }),
  })
}

/** Writes changes as one transaction, since they belong together; as several where a key changes more than once, which etcd allows
 *  in no transaction. */
async function writeChanges(client: Client, changes: readonly GeneratedChange[]): Promise<void> {
  let keys = new Set<Key>()
  let success: Operation[] = []
  for (const change of changes) {
    if (keys.has(change.key)) {
      await client.txn({ compares: [], success, failure: [] })
      keys = new Set()
      success = []
    }
    keys.add(change.key)
    success.push(operationOf(change))
  }
  await client.txn({ compares: [], success, failure: [] })
}

function operationOf(change: GeneratedChange): Operation {
  return change.type === 'put'
    ? { type: 'put', key: change.key, value: change.value }
    : { type: 'delete', range: singleKey(change.key) }
}

function* batched(changes: Iterable<GeneratedChange>): Generator<GeneratedChange[]> {
  let batch: GeneratedChange[] = []
  let bytes = 0
  for (const change of changes) {
    batch.push(change)
    bytes += change.type === 'put' ? change.value.length : 0
    if (batch.length >= writeMaxOperations || bytes >= writeMaxBytes) {
      yield batch
      batch = []
      bytes = 0
    }
  }
  if (batch.length > 0) yield batch
}
