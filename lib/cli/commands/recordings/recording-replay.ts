/** Writes the changes of a recording again, as fast as they came or faster: first what there was
 *  when the recording began, then change after change. In a loop, what the changes did is undone at
 *  the end, and they begin again. */

import { CacheError, type Clock, type Key, singleKey, sleep } from '@watchglass/base'
import type { Change, KeyValue } from '@watchglass/store'
import type { Client, Operation } from '@watchglass/etcd'
import type { OnLeftOut } from './foreign.ts'
import { type RecordedChanges, readRecording } from './recording.ts'

/** The speed of a replay: a multiple of the recorded speed, revisions a second, or as fast as they
 *  can be written. */
export type ReplaySpeed =
  | { readonly type: 'times'; readonly factor: number }
  | { readonly type: 'rate'; readonly perSecond: number }
  | { readonly type: 'max' }

export interface ReplayOptions {
  readonly path: string
  readonly speed: ReplaySpeed
  readonly isLooped: boolean
  readonly client: Client
  readonly clock: Clock
  /** A value with its times moved by so many milliseconds. */
  readonly moveTimes: (value: Uint8Array, byMs: number) => Uint8Array
  /** Called when all changes were written once more. */
  readonly onRound: (revisions: number) => void
  /** Told what a recording of another tool has that cannot be replayed. */
  readonly onLeftOut?: OnLeftOut | undefined
  /** Told the number of entries of a base that is not whole. */
  readonly onIncomplete?: ((entries: number) => void) | undefined
  readonly signal: AbortSignal
}

/** etcd takes at most 128 operations in a transaction, and 1.5 MiB. */
const operationsMax = 100
const operationsMaxBytes = 1024 * 1024

export class RecordingReplay {
  readonly #options: ReplayOptions
  /** Entries at the beginning, while a loop may need them again. */
  readonly #base = new Map<Key, KeyValue>()
  /** The keys that the changes of this round have written or deleted. */
  #changed = new Set<Key>()

  constructor(options: ReplayOptions) {
    this.#options = options
  }

  /** Writes what there was; the recording is read up to there. */
  async begin(): Promise<void> {
    const { path, isLooped, onIncomplete } = this.#options
    for await (const recorded of readRecording(path, undefined, onIncomplete)) {
      if (!recorded.isBase) return
      const entries = recorded.changes.flatMap(change =>
        change.type === 'put' ? change.entry : [],
      )
      if (isLooped) for (const entry of entries) this.#base.set(entry.key, entry)
      await this.#write(entries.map(entry => this.#put(entry, 0)))
    }
  }

  /** Writes the changes until they are over, or for ever. */
  async run(): Promise<void> {
    const { path, signal, isLooped, onRound } = this.#options
    do {
      const revisions = await this.#round()
      if (revisions === 0 && !signal.aborted) {
        throw new CacheError('invalid_request', `${path} has no changes to replay`)
      }
      onRound(revisions)
      if (isLooped && !signal.aborted) await this.#undo()
    } while (isLooped && !signal.aborted)
  }

  async #round(): Promise<number> {
    const { path, clock, signal, isLooped, onLeftOut } = this.#options
    const pace = new Pace(this.#options)
    let revisions = 0
    for await (const recorded of readRecording(path, onLeftOut)) {
      if (recorded.isBase) continue
      const delayMs = pace.delayMs(recorded, revisions)
      if (delayMs > 0) await sleep(clock, delayMs, signal)
      else await clock.yield()
      if (signal.aborted) return revisions
      const byMs = recorded.timeMs === undefined ? 0 : clock.wallMs() - recorded.timeMs
      await this.#write(recorded.changes.map(change => this.#operation(change, byMs)))
      if (isLooped) for (const change of recorded.changes) this.#changed.add(keyOf(change))
      revisions++
    }
    return revisions
  }

  /** Puts back what there was at first. */
  async #undo(): Promise<void> {
    const changed = [...this.#changed]
    this.#changed = new Set()
    await this.#write(
      changed.map(key => {
        const entry = this.#base.get(key)
        return entry === undefined ? deletion(key) : this.#put(entry, 0)
      }),
    )
  }

  #operation(change: Change, byMs: number): Operation {
    return change.type === 'put' ? this.#put(change.entry, byMs) : deletion(change.key)
  }

  #put({ key, value }: KeyValue, byMs: number): Operation {
    const moved = byMs === 0 ? value : this.#options.moveTimes(value, byMs)
    return { type: 'put', key, value: moved }
  }

  async #write(operations: readonly Operation[]): Promise<void> {
    const { client, signal } = this.#options
    for (let i = 0; i < operations.length;) {
      if (signal.aborted) return
      const count = countOfBatch(operations, i)
      const success = operations.slice(i, i + count)
      await client.txn({ compares: [], success, failure: [] })
      i += count
    }
  }
}

/** As many operations from `start` on as fit into a transaction; at least one. */
function countOfBatch(operations: readonly Operation[], start: number): number {
  const end = Math.min(operations.length, start + operationsMax)
  let bytes = 0
  for (let i = start; i < end; i++) {
    const operation = operations[i]
    if (operation?.type === 'put') bytes += operation.value.length
    if (bytes > operationsMaxBytes) return Math.max(1, i - start)
  }
  return end - start
}

/** When the next revision is due. */
class Pace {
  readonly #options: ReplayOptions
  readonly #startMs: number
  #firstTimeMs: number | undefined

  constructor(options: ReplayOptions) {
    this.#options = options
    this.#startMs = options.clock.monotonicMs()
  }

  delayMs({ timeMs }: RecordedChanges, revisions: number): number {
    const { speed, clock, path } = this.#options
    if (speed.type === 'max') return 0
    const tookMs = clock.monotonicMs() - this.#startMs
    if (speed.type === 'rate') return (revisions * 1000) / speed.perSecond - tookMs
    if (timeMs === undefined) {
      throw new CacheError(
        'invalid_request',
        `${path} has no times, because an older version recorded it: use --speed max, or a rate such as --speed 100/s`,
      )
    }
    this.#firstTimeMs ??= timeMs
    return (timeMs - this.#firstTimeMs) / speed.factor - tookMs
  }
}

function keyOf(change: Change): Key {
  return change.type === 'put' ? change.entry.key : change.key
}

function deletion(key: Key): Operation {
  return { type: 'delete', range: singleKey(key) }
}

/** Reads a speed: `1x`, `0.5x`, `100/s` or `max`. */
export function parseSpeed(text: string): ReplaySpeed {
  if (text === 'max') return { type: 'max' }
  const [, digits, unit] = /^(\d{1,6}(?:\.\d{1,3})?)(x|\/s)$/.exec(text) ?? []
  const value = Number(digits)
  if (digits === undefined || value === 0) {
    throw new CacheError(
      'invalid_request',
      `--speed "${text}" is no speed such as 1x, 10x, 100/s or max`,
    )
  }
  return unit === 'x' ? { type: 'times', factor: value } : { type: 'rate', perSecond: value }
}
