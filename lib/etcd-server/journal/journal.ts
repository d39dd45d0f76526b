/** The journal of an engine in a data folder. Everything that is decided while the disk is busy is
 *  written at once when it is free again, as one frame (group commit), and counts as written then.
 *
 *  A snapshot is taken of a moment between two decisions: what comes later goes to the next log,
 *  and the old files are removed once the snapshot is on the disk. A crash at any step leaves
 *  either the old snapshot with all logs since, or the new one. */

import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ByteWriter,
  CacheError,
  type Clock,
  type Logger,
  sleep,
  type Steps,
} from '@watchglass/base'
import type { Engine } from '../engine/engine.ts'
import type { EngineDecision, Journal } from '../engine/journal.ts'
import { EtcdError } from '@watchglass/etcd'
import { DataFile } from './data-file.ts'
import { diskFailure, isFull } from './disk-failures.ts'
import { planOf } from './file-names.ts'
import type { FolderLock } from './folder-lock.ts'
import { appendRecord, appendSteps, recordOf, type StartRecord } from './records.ts'
import { type Captured, snapshotParts } from './snapshot-records.ts'

/** When a write counts: once the system has it, so that it outlives the process, or once the disk
 *  has it, so that it outlives the machine's power. */
export type Durability = 'os' | 'fsync'

export interface JournalOptions {
  readonly folder: string
  readonly durability: Durability
  readonly clock: Clock
  readonly logger: Logger
  /** Logs smaller than that are kept after a compaction. */
  readonly compactMinBytes?: number | undefined
}

/** The files that a journal goes on with. */
export interface JournalFiles {
  readonly lock: FolderLock
  readonly log: DataFile
  readonly logNumber: number
  readonly snapshotBytes: number
  /** Bytes of the logs since the snapshot, without the last one. */
  readonly olderLogBytes: number
  /** The time for which the store has run before. */
  readonly runningMs: number
}

/** A new snapshot after a compaction has to be worth its writing. */
const compactMinBytes = 1024 * 1024
/** Without compactions logs grow by leases and by the past, which a snapshot has, too. */
const uncompactedMinBytes = 64 * 1024 * 1024
/** A full disk is tried again so often. */
const retryMs = 1000

type Item =
  | { readonly type: 'records'; readonly out: ByteWriter; readonly written: (() => void)[] }
  | { readonly type: 'snapshot'; readonly captured: Captured }

export class FolderJournal implements Journal {
  readonly #options: JournalOptions
  readonly #engine: Engine
  readonly #lock: FolderLock
  readonly #startMs: number
  readonly #runningBaseMs: number
  readonly #closing = new AbortController()
  #log: DataFile
  #logNumber: number
  #snapshotBytes: number
  #olderLogBytes: number
  #queue: Item[] = []
  #running: Promise<void> | undefined
  #snapshotting: Promise<void> | undefined
  #refusal: CacheError | undefined
  /** After a snapshot that failed, logs have to grow to this before the next one. */
  #retryBytes = 0

  constructor(options: JournalOptions, engine: Engine, files: JournalFiles) {
    this.#options = options
    this.#engine = engine
    this.#lock = files.lock
    this.#log = files.log
    this.#logNumber = files.logNumber
    this.#snapshotBytes = files.snapshotBytes
    this.#olderLogBytes = files.olderLogBytes
    this.#runningBaseMs = files.runningMs
    this.#startMs = options.clock.monotonicMs()
  }

  get refusal(): CacheError | undefined {
    return this.#refusal
  }

  *encode(decision: EngineDecision): Steps<Uint8Array> {
    const out = new ByteWriter(firstBytes)
    yield* appendSteps(out, recordOf(decision))
    return out.bytes.subarray(0, out.length)
  }

  append(decision: EngineDecision, written: () => void, bytes?: Uint8Array): void {
    if (this.#closing.signal.aborted) return
    let last = this.#queue.at(-1)
    if (last?.type !== 'records') {
      last = { type: 'records', out: new ByteWriter(firstBytes), written: [] }
      this.#queue.push(last)
    }
    if (bytes === undefined) appendRecord(last.out, recordOf(decision))
    else last.out.append(bytes)
    last.written.push(written)
    if (decision.type === 'compaction') {
      last.written.push(() => this.#considerSnapshot(this.#compactMinBytes, 1))
    }
    this.#wake()
  }

  /** Writes what was decided, and lets go of the folder. */
  async close(): Promise<void> {
    const wasRefused = this.#refusal !== undefined
    this.#refusal ??= new EtcdError('stopped')
    this.#closing.abort()
    await this.#running
    await this.#snapshotting
    try {
      if (!wasRefused && this.#queue.length === 0) {
        // How long it has run for, so that leases keep what is left of their time.
        await this.#log.append(new Uint8Array(0), this.#runningMs)
        await this.#log.sync()
      }
    } catch (error) {
      this.#options.logger.error(diskFailure(this.#log.path, error).message)
    } finally {
      await this.#log.close().catch(() => undefined)
      await this.#lock.release()
    }
  }

  get #runningMs(): number {
    const ranMs = this.#options.clock.monotonicMs() - this.#startMs
    return Math.round(this.#runningBaseMs + ranMs)
  }

  get #compactMinBytes(): number {
    return this.#options.compactMinBytes ?? compactMinBytes
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      if (this.#queue.length > 0 && !this.#closing.signal.aborted) this.#wake()
    })
  }

  async #run(): Promise<void> {
    // Whatever is decided in the same turn is written together.
    await Promise.resolve()
    for (let item = this.#queue.shift(); item !== undefined; item = this.#queue.shift()) {
      if (item.type === 'snapshot') {
        await this.#beginSnapshot(item.captured)
        continue
      }
      if (!(await this.#persist(item.out))) {
        this.#queue.unshift(item)
        await new Promise(resolve => {
          this.#closing.signal.addEventListener('abort', resolve, { once: true })
          if (this.#closing.signal.aborted) resolve(undefined)
        })
        return
      }
      for (const written of item.written) written()
      this.#considerSnapshot(uncompactedMinBytes, 2)
    }
  }

  /** False once nothing can be written any more. */
  async #persist({ bytes, length }: ByteWriter): Promise<boolean> {
    const { clock, logger, durability } = this.#options
    const records = bytes.subarray(0, length)
    for (;;) {
      try {
        await this.#log.append(records, this.#runningMs)
      } catch (error) {
        const failure = diskFailure(this.#log.path, error)
        if (this.#refusal === undefined) {
          const rest = isFull(error) ? 'it goes on by itself then' : 'it is tried again'
          logger.error(`${failure.message}: writes are refused, ${rest}`)
        }
        this.#refusal = failure
        await sleep(clock, retryMs, this.#closing.signal)
        if (this.#closing.signal.aborted) return false
        continue
      }
      if (durability === 'fsync' && !(await this.#sync())) return false
      if (this.#refusal !== undefined && !this.#closing.signal.aborted) {
        this.#refusal = undefined
        logger.info('writes are taken again', { file: this.#log.path })
      }
      return true
    }
  }

  /** A write that the system could not put on the disk, it may have forgotten: no second try
   *  would tell. */
  async #sync(): Promise<boolean> {
    try {
      await this.#log.sync()
      return true
    } catch (error) {
      const { message } = diskFailure(this.#log.path, error)
      const text = `${message}: the disk did not confirm a write, and no more are taken; see to the disk and start again`
      this.#refusal = new CacheError('source_failed', text, { cause: error })
      this.#options.logger.error(text)
      return false
    }
  }

  get #logBytes(): number {
    return this.#olderLogBytes + this.#log.size
  }

  /** Asks for a snapshot when the logs weigh so much, and so many times the last one. The engine
   *  has decided nothing that is not in the queue, or written. */
  #considerSnapshot(minBytes: number, factor: number): void {
    const isBusy =
      this.#snapshotting !== undefined || this.#queue.some(({ type }) => type === 'snapshot')
    if (isBusy || this.#closing.signal.aborted) return
    const least = Math.max(minBytes, this.#snapshotBytes * factor, this.#retryBytes)
    if (this.#logBytes < least) return
    this.#queue.push({ type: 'snapshot', captured: capture(this.#engine, this.#options.clock) })
  }

  async #beginSnapshot(captured: Captured): Promise<void> {
    const { folder } = this.#options
    const runningMs = this.#runningMs
    const number = this.#logNumber + 1
    try {
      await this.#log.sync()
      const next = await createLog(folder, number, { start: captured.start, runningMs })
      this.#olderLogBytes += this.#log.size
      await this.#log.close()
      this.#log = next
      this.#logNumber = number
    } catch (error) {
      this.#postpone(error)
      return
    }
    this.#snapshotting = this.#writeSnapshot(number, { ...captured, runningMs })
      .catch((error: unknown) => this.#postpone(error))
      .finally(() => (this.#snapshotting = undefined))
  }

  async #writeSnapshot(number: number, captured: Captured): Promise<void> {
    const { folder } = this.#options
    this.#snapshotBytes = await createSnapshot(folder, number, captured)
    this.#olderLogBytes = 0
    this.#retryBytes = 0
    await removeLeftovers(folder)
  }

  #postpone(error: unknown): void {
    this.#retryBytes = this.#logBytes * 2
    const { message } = diskFailure(this.#options.folder, error)
    this.#options.logger.warn(`a snapshot failed, and the logs are kept: ${message}`)
  }
}

/** Enough for the record of a usual write. */
const firstBytes = 4096

function encoded(start: StartRecord): Uint8Array {
  const out = new ByteWriter(64)
  appendRecord(out, start)
  return out.copy()
}

/** The state of an engine now. It shares everything with the engine, and does not change. */
export function capture(engine: Engine, clock: Clock): Captured {
  const { leases, ...backup } = engine.backup()
  const [member] = engine.members
  if (member === undefined) throw new CacheError('invalid_request', 'an engine without members')
  const { clusterId, raftTerm, revision } = engine
  const nowMs = clock.monotonicMs()
  return {
    start: { type: 'start', clusterId, memberId: member.id, raftTerm, revision },
    backup,
    leases: leases.map(({ id, ttlSeconds, expiresAtMs }) => ({
      id,
      ttlSeconds,
      remainingMs: Math.max(0, Math.round(expiresAtMs - nowMs)),
    })),
    runningMs: 0,
  }
}

/** Writes a snapshot; its size. */
export async function createSnapshot(
  folder: string,
  number: number,
  captured: Captured,
): Promise<number> {
  const file = await DataFile.create({ folder, kind: 'snapshot', number }, async making => {
    for (const part of snapshotParts(captured)) await making.append(part, captured.runningMs)
  })
  await file.close()
  return file.size
}

/** Begins a log with the record that a process writes to it. */
export async function createLog(
  folder: string,
  number: number,
  { start, runningMs }: Pick<Captured, 'start' | 'runningMs'>,
): Promise<DataFile> {
  return DataFile.create({ folder, kind: 'log', number }, file =>
    file.append(encoded(start), runningMs),
  )
}

/** Goes on with a log: the record that says so is on the disk. */
export async function continueLog(
  log: DataFile,
  { start, runningMs }: Pick<Captured, 'start' | 'runningMs'>,
): Promise<void> {
  await log.append(encoded(start), runningMs)
  await log.sync()
}

/** Removes what the newest snapshot has made superfluous. */
export async function removeLeftovers(folder: string): Promise<void> {
  const { leftovers } = planOf(await readdir(folder))
  for (const name of leftovers) await unlink(join(folder, name))
}
