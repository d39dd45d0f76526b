/** Writes a made-up cluster into an etcd, as options describe it, and goes on changing it. */

import { CacheError, createRandom, type Logger, singleKey } from '@watchglass/base'
import type { Client, TxnCompare, Operation } from '@watchglass/etcd'
import { systemClock } from '@watchglass/cache'
import { parseRate, startChurn } from './churn.ts'
import { GeneratedCluster, type GeneratedChange, type GeneratedStep } from './generated-cluster.ts'
import { parsePlan } from './plan.ts'

export { forgetStamps } from './shape-stamps.ts'

export interface Described {
  /** Counts of what is made up: `pods=1000`. */
  readonly plan: string
  readonly seed: number
  /** The prefix of all keys. */
  readonly prefix: string
}

/** The cluster that is described. */
export function clusterOf({ plan, seed, prefix }: Described): GeneratedCluster {
  return new GeneratedCluster({
    plan: parsePlan(plan),
    random: createRandom(seed),
    nowMs: systemClock.wallMs(),
    prefix,
  })
}

/** Changes a second that a text such as `10/s` asks for; undefined without a text. */
export function rateOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseRate(text)
}

/** Transactions in flight: enough to keep one etcd busy, not enough to starve its other clients. */
const writesInFlight = 16
/** Far below etcd's 128 operations and 1.5 MiB for one request. */
const writeMaxOperations = 64
const writeMaxBytes = 512 * 1024

export interface Filling {
  readonly logger: Logger
  readonly signal: AbortSignal
  /** A line that shows how far it is. */
  readonly progress: { show(text: string): void; clear(): void }
}

/** Writes every object of the cluster. */
export async function fill(
  client: Client,
  cluster: GeneratedCluster,
  { logger, signal, progress }: Filling,
): Promise<void> {
  const startMs = systemClock.monotonicMs()
  let objects = 0
  const total = cluster.size
  const writing = new Set<Promise<unknown>>()
  for (const changes of batched(cluster.objects())) {
    if (signal.aborted) throw new CacheError('closed', `stopped after ${objects} objects`)
    const write: Promise<unknown> = writeChanges(client, changes).finally(() =>
      writing.delete(write),
    )
    writing.add(write)
    // The first write makes the connection. To generate what follows meanwhile would hold the event
    // loop, on a busy machine for longer than a handshake over TLS is waited for.
    if (objects === 0 || writing.size >= writesInFlight) await Promise.race(writing)
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

/** A bar of 20 characters, for a share from 0 to 1. */
function progressBar(share: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * 20)
  return `[${'#'.repeat(filled)}${'.'.repeat(20 - filled)}]`
}

export interface ChurnOf {
  readonly client: Client
  readonly cluster: GeneratedCluster
  readonly rate: number
  readonly logger: Logger
}

/** Starts churn that is written through `client`; the answer stops it. */
export function startChurnOf({ client, cluster, rate, logger }: ChurnOf): () => void {
  return startChurn({
    cluster,
    changesPerSecond: rate,
    clock: systemClock,
    write: step => writeStep(client, step),
    onFailure: ({ code, message }) =>
      logger.warn('a change was not written', { code, reason: message }),
  })
}

/** Writes the changes of a step, unless somebody else has changed what it is about. */
async function writeStep(client: Client, step: GeneratedStep): Promise<void> {
  const compares = [
    ...step.unchanged.map(({ key, record }): TxnCompare => {
      return { key, target: 'modRevision', result: 'equal', value: record.writtenAt }
    }),
    ...step.present.map((key): TxnCompare => {
      return { key, target: 'createRevision', result: 'greater', value: 0 }
    }),
  ]
  const isWritten = await writeChanges(client, step.changes, compares)
  if (!isWritten) step.letGo()
}

/** Writes changes as one transaction, since they belong together. Of a key that changes more than
 *  once the last change counts, as etcd allows no more in a transaction. */
async function writeChanges(
  client: Client,
  changes: readonly GeneratedChange[],
  compares: readonly TxnCompare[] = [],
): Promise<boolean> {
  const last = new Map(changes.map(change => [change.key, change]))
  const success = [...last.values()].map(operationOf)
  const { succeeded, header } = await client.txn({ compares, success, failure: [] })
  if (!succeeded) return false
  for (const change of last.values()) {
    if (change.type === 'put' && change.of !== undefined) change.of.writtenAt = header.revision
  }
  return true
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
