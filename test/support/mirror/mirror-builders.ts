/** A mirror of a tiny etcd with a stopped clock, and a record of the calls to its sink. */

import type { ReadOutcome } from '../../../lib/cache/mirror/reads/read.ts'
import { silentLogger } from '../silent-logger.ts'
import type { Elsewhere, Freshness } from '../../../lib/base/freshness.ts'
import { type Key, keyFromText, prefixRange, textFromKey } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import type { Revision } from '../../../lib/base/revision.ts'
import { defaultLimits, type MirrorLimits } from '../../../lib/cache/mirror/limits.ts'
import { Mirror, type MirrorOptions } from '../../../lib/cache/mirror/mirror.ts'
import type { MirrorMetrics } from '../../../lib/cache/mirror/metrics.ts'
import { noMetrics } from '../../../lib/cache/mirror/metrics.ts'
import type { MirrorSink } from '../../../lib/cache/mirror/mirrored-keyspace.ts'
import type { Snapshot } from '../../../lib/store/snapshot.ts'
import { FakeClock } from '../fake-clock.ts'
import { TinyEtcd } from '../etcd/tiny-etcd.ts'

export const historyBounds = { maxBatches: 1000, maxAgeMs: 600_000, maxBytes: 1e9 }

/** A sink that notes its calls, in order: `applied a@5`, `reset a new epoch`, `a is ready`. */
export class RecordingSink implements MirrorSink {
  readonly told: string[] = []

  applied: MirrorSink['applied'] = (keyspace, batch) => {
    this.told.push(`applied ${keyspace}@${batch.revision}`)
  }
  progressed: MirrorSink['progressed'] = (_keyspaces, revision) => {
    this.told.push(`progressed ${revision}`)
  }
  reset: MirrorSink['reset'] = (keyspace, reason) => {
    this.told.push(`reset ${keyspace} ${reason}`)
  }
  stateChanged: MirrorSink['stateChanged'] = (keyspace, state) => {
    this.told.push(`${keyspace} is ${state}`)
  }
}

/** Counts of what the metrics were told, by name and arguments that are no numbers: `violation
 *  unknown-delete`. */
export function countingMetrics(): { metrics: MirrorMetrics; counts: Map<string, number> } {
  const counts = new Map<string, number>()
  const entries = Object.keys(noMetrics).map(name => [
    name,
    (...args: unknown[]) => {
      const text = [name, ...args.filter(arg => typeof arg === 'string')].join(' ')
      counts.set(text, (counts.get(text) ?? 0) + 1)
    },
  ])
  return { metrics: Object.fromEntries(entries) as MirrorMetrics, counts }
}

export interface MirrorFixture {
  readonly etcd: TinyEtcd
  readonly clock: FakeClock
  readonly sink: RecordingSink
  readonly counts: Map<string, number>
  readonly mirror: Mirror
}

export interface FixtureOptions {
  readonly etcd?: TinyEtcd
  readonly keyspaces?: readonly string[]
  readonly limits?: Partial<MirrorLimits>
  readonly mirror?: Partial<MirrorOptions>
}

/** A mirror of `/r/` with keyspaces `/r/NAME/`, not started. */
export function createFixture(options: FixtureOptions = {}): MirrorFixture {
  const etcd = options.etcd ?? new TinyEtcd()
  const clock = new FakeClock()
  const sink = new RecordingSink()
  const { metrics, counts } = countingMetrics()
  const mirror = new Mirror({
    client: etcd,
    clock,
    random: createRandom(1),
    limits: { ...defaultLimits, ...options.limits },
    logger: silentLogger,
    metrics,
    sink,
    ranges: [prefixRange(keyFromText('/r/'))],
    keyspaceOf: nameOf,
    ...options.mirror,
  })
  for (const name of options.keyspaces ?? ['a', 'b']) mirror.add(keyspaceNamed(name))
  return { etcd, clock, sink, counts, mirror }
}

/** The same, started, with its stream accepted and answering. */
export async function createReadyFixture(options: FixtureOptions = {}): Promise<MirrorFixture> {
  const fixture = createFixture(options)
  fixture.mirror.start()
  await fixture.clock.advance(0)
  fixture.etcd.lastWatch.accept()
  await fixture.clock.advance(0)
  return fixture
}

export function keyspaceNamed(name: string): Parameters<Mirror['add']>[0] {
  return { name, range: prefixRange(keyFromText(`/r/${name}/`)), history: historyBounds }
}

/** `/r/NAME/...` belongs to `NAME`. */
export function nameOf(key: Key): string | undefined {
  return /^\/r\/([^/]+)\//.exec(key)?.[1]
}

export async function read(
  mirror: Mirror,
  keyspace: string,
  freshness: Freshness = { type: 'consistent' },
  elsewhere: Elsewhere = 'nowhere',
): Promise<ReadOutcome> {
  return mirror.read(keyspace, { freshness, elsewhere })
}

/** `key=value` of each entry, and the revision. */
export function contentsOf(outcome: ReadOutcome): { revision: Revision; entries: string[] } {
  if (outcome.from !== 'mirror') throw new Error(`read went elsewhere: ${outcome.reason}`)
  return { revision: outcome.snapshot.revision, entries: entriesOf(outcome.snapshot) }
}

export function entriesOf(snapshot: Snapshot): string[] {
  return snapshot
    .range({ start: keyFromText(''), end: undefined })
    .map(entry => `${textFromKey(entry.key)}=${Buffer.from(entry.value).toString()}`)
}

/** The outcome of a promise by now: its value, its failure's code, or `waiting`. */
export function watchOutcome(promise: Promise<ReadOutcome>): { now: () => string } {
  let now = 'waiting'
  promise.then(
    outcome => {
      now = outcome.from === 'mirror' ? `at ${outcome.snapshot.revision}` : outcome.reason
    },
    (error: { code?: string }) => {
      now = error.code ?? 'no failure of ours'
    },
  )
  return { now: () => now }
}

/** Makes ranges wait; the answer lets one group of them go. */
export function hold(etcd: TinyEtcd): () => void {
  let release = (): void => {}
  etcd.held = new Promise(resolve => {
    release = () => {
      etcd.held = undefined
      resolve()
    }
  })
  return release
}
